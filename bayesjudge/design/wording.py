"""What the audit of a table says, in words. The numbers are computed elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesjudge.terms import parts

if TYPE_CHECKING:
    from bayesjudge.design.check import Design, ModelDesign
    from bayesjudge.scores import ScoreTable

# Below this many degrees of freedom a variance is known to no better than a factor of about
# two either way, and its prior shows.
FEW_DF = 20
MOST_LISTED = 5

# Why two terms can't be told apart. Earlier lines are the plainer ones.
REASONS = (
    ("generation:judge", "residual", "no call is repeated"),
    ("scenario", "generation", "each scenario has one generation"),
    ("generation", "residual", "no generation was scored by two judges"),
    ("generation", "generation:judge", "no generation was scored by two judges"),
    ("scenario:judge", "generation:judge", "no judge saw two generations of a scenario"),
    ("scenario", "scenario:judge", "no scenario was scored by two judges"),
    ("scenario:judge", "residual", "no judge saw two generations of a scenario"),
)


def reasons(name: str) -> list[str]:
    """Say why the terms of a sum can't be told apart, with no more reasons than needed."""
    group = {term: term for term in parts(name)}
    found = []
    for one, other, reason in REASONS:
        if one in group and other in group and group[one] != group[other]:
            found.append(reason)
            old, new = group[other], group[one]
            group = {term: new if own == old else own for term, own in group.items()}
    return list(dict.fromkeys(found))


def listed(labels: Sequence[str]) -> str:
    """Write some labels, and how many more there are."""
    shown = ", ".join(labels[:MOST_LISTED])
    more = len(labels) - MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def warnings(
    scores: ScoreTable, details: Sequence[ModelDesign], duplicates: pd.DataFrame
) -> Iterator[str]:
    """Say what a user should know before believing a fit."""
    yield from _missing(scores)
    yield from _subsets(scores, details)
    yield from _gathered(details, _unconnected(scores, details))
    yield from _gathered(details, ((d.model, text) for d in details for text in _absent(d)))
    yield from _gathered(details, ((d.model, text) for d in details for text in _thin(d)))
    for row in duplicates.to_dict("records"):
        alike = "" if np.isnan(row["correlation"]) else f", correlation {row['correlation']:.2f}"
        yield (
            f"Judges {row['judge_a']} and {row['judge_b']} say nearly the same "
            f"({row['equal']:.0%} equal scores on {row['common']} generations{alike}): together they count hardly more than "
            "one opinion, but weigh twice in the panel mean."
        )


def _gathered(details: Sequence[ModelDesign], found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Say once what holds for several evaluated models."""
    by_text: dict[str, list[str]] = {}
    for model, text in found:
        by_text.setdefault(text, []).append(model)
    for text, models in by_text.items():
        every = len(models) == len(details)
        yield text if every else f"{listed(models)}: {text}"


def _missing(scores: ScoreTable) -> Iterator[str]:
    counts = scores.missing
    total = int(counts["missing"].sum())
    if not total:
        return
    worst = counts[counts["missing"] > 0].sort_values("share", ascending=False)
    named = [
        f"{judge} on {model} {row.missing} of {row.calls}"
        for (judge, model), row in zip(worst.index, worst.itertuples(), strict=True)
    ]
    bounds = scores.panel_mean_bounds()
    widest = (bounds["high"] - bounds["low"]).idxmax()
    low, high = bounds["low"][widest], bounds["high"][widest]
    scale = "" if scores.scale_declared else " of the observed range"
    yield (
        f"Missing scores: {total} ({listed(named)}). They are treated as missing at random: as if "
        "they would have looked like the others of the same judge and scenario. Whatever "
        f"they would have been{scale}, the panel mean of {widest} lies between {low:.4g} and "
        f"{high:.4g}."
    )


def _subsets(scores: ScoreTable, details: Sequence[ModelDesign]) -> Iterator[str]:
    for detail in details:
        if len(detail.judges) < len(scores.judges):
            lacking = [j for j in scores.judges if j not in detail.judges]
            yield (
                f"{detail.model} was scored by {len(detail.judges)} of {len(scores.judges)} "
                f"judges (not by {listed(lacking)}). Its panel mean is over that judge subset "
                "only and can't be compared with the others as it stands."
            )


def _unconnected(scores: ScoreTable, details: Sequence[ModelDesign]) -> Iterator[tuple[str, str]]:
    for detail in details:
        if len(detail.blocks) < 2:
            continue
        named = [
            f"{{{listed([scores.judges[j] for j in block.judges])}}} on "
            f"{len(block.scenarios)} scenarios"
            for block in detail.blocks
        ]
        errors = [
            error
            for error, judge in zip(detail.offset_errors, detail.judges, strict=True)
            if judge in {scores.judges[b.judges[0]] for b in detail.blocks[:2]}
        ]
        pair = [scores.judges[b.judges[0]] for b in detail.blocks[:2]]
        size = float(np.sqrt(np.sum(np.square(errors))))
        how_much = (
            f"the standard error of {pair[0]} minus {pair[1]} is about {size:.3g} points, "
            "scenario variance included"
            if np.isfinite(size)
            else "with one scenario each no standard error can be given"
        )
        yield (
            detail.model,
            f"The judges fall into {len(detail.blocks)} groups that share no scenario "
            f"({'; '.join(named[:MOST_LISTED])}{' ...' if len(named) > MOST_LISTED else ''}). "
            "Offsets between groups rest on the scenarios being exchangeable and randomly "
            f"assigned: {how_much}.",
        )


def _absent(detail: ModelDesign) -> Iterator[str]:
    absent = detail.structure.absent
    if "scenario" in absent:
        yield (
            "There is one scenario: nothing can be said about variance between scenarios, and "
            "the panel mean is that of this scenario."
        )
    if "judge" in absent:
        yield (
            "There is one judge: its leniency can't be seen, and the panel mean is its mean. "
            "Add a second judge to learn how much judges differ."
        )
    if "residual" in absent:
        yield "There are no degrees of freedom for a residual: no model can be fitted."
    if detail.structure.entangled:
        block = ", ".join(detail.structure.entangled[0])
        yield (
            f"The design mixes two kinds of scenarios, so {block} are known only in "
            "combinations. Fit model linear-paper, which has no scenario:judge."
        )


def _thin(detail: ModelDesign) -> Iterator[str]:
    weak = [f"{term} ({df} df)" for term, df in detail.freedom.items() if df < FEW_DF]
    if weak:
        yield (
            f"Few degrees of freedom for {', '.join(weak)}: these variances will lean on their "
            "priors. Compare fits with --prior-scale 0.5 and 2."
        )


def as_text(design: Design) -> str:
    """Write the audit of a table as plain text."""
    known = identified(design)
    width = max(map(len, known))
    lines = [design.models.to_string(), "", "What the data can tell apart:"]
    lines += [f"  {name:<{width}}  {verdict}" for name, verdict in known.items()]
    for title, texts in (("Notes", design.notes), ("Warnings", design.warnings)):
        if texts:
            lines += ["", f"{title}:"] + [f"  - {text}" for text in texts]
    return "\n".join(lines)


def identified(design: Design) -> dict[str, str]:
    """Say of each component or sum what the data can know of it."""
    found: dict[str, str] = {}
    for term, known in design.identifiable.items():
        if known is True:
            found[term] = "identified"
        elif known is False:
            found[term] = "can't be seen in these data"
        else:
            found[str(known)] = f"one sum: {'; '.join(reasons(str(known)))}"
    return found
