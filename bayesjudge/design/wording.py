"""What the audit of a table says, in words. The numbers are computed elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd

from bayesjudge.terms import parts
from bayesjudge.wording import SHOWN, counted, listed

if TYPE_CHECKING:
    from bayesjudge.design.details import ModelDesign
    from bayesjudge.scores import ScoreTable

# Below this many degrees of freedom a variance is known to no better than a factor of about
# two either way, and its prior shows.
FEW_DF = 20
OBSERVED = "within the observed range"
MOST_LIKE = 3  # warnings of one kind
MOST_ROWS = 40  # of the table of models, when it is written as text

MIXED = "known only in combinations: the design mixes different kinds of scenarios"


class Audit(Protocol):
    """What is written of a `bayesjudge.design.check.Design`."""

    @property
    def models(self) -> pd.DataFrame:
        """Counts by evaluated model."""
        ...

    @property
    def identifiable(self) -> Mapping[str, bool | str]:
        """What is known of each term, for all evaluated models."""
        ...

    @property
    def by_model(self) -> Mapping[str, Mapping[str, bool | str]]:
        """What is known of each term, by evaluated model."""
        ...

    @property
    def details(self) -> tuple[ModelDesign, ...]:
        """Findings by evaluated model."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed in reading."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before believing a fit."""
        ...


def warnings(
    scores: ScoreTable,
    details: Sequence[ModelDesign],
    duplicates: pd.DataFrame,
    missing: pd.DataFrame,
    bounds: pd.DataFrame,
) -> Iterator[str]:
    """Say what a user should know before believing a fit."""
    yield from _missing(missing, bounds, "on the scale" if scores.scale_declared else OBSERVED)
    yield from _silent(scores, missing)
    for kind in (_subsets(scores, details), _unconnected(scores, details), _thin(details)):
        yield from _first(kind)
    yield from _absent(details)
    yield from _first(_duplicates(duplicates))


def _first(texts: Iterable[str]) -> Iterator[str]:
    """Say some of the warnings of one kind, and how many more there are."""
    found = list(texts)
    yield from found[:MOST_LIKE]
    more = len(found) - MOST_LIKE
    if more > 0:
        yield f"There {'is' if more == 1 else 'are'} {counted(more, 'more warning')} like the last."


def _gathered[K](
    details: Iterable[ModelDesign], key: Callable[[ModelDesign], K]
) -> dict[K, list[ModelDesign]]:
    """Gather the evaluated models of which the same is to be said."""
    found: dict[K, list[ModelDesign]] = {}
    for detail in details:
        found.setdefault(key(detail), []).append(detail)
    return found


def _named(some: Sequence[ModelDesign], details: Sequence[ModelDesign]) -> str:
    """Name the evaluated models of which something is said, unless it is all of them."""
    return "" if len(some) == len(details) else f"{listed([d.model for d in some])}: "


def _span(values: Iterable[float], form: str) -> str:
    """Write a range of numbers, or one number when the two ends look the same."""
    known = sorted(values)
    low, high = format(known[0], form), format(known[-1], form)
    return low if low == high else f"{low} to {high}"


def _missing(counts: pd.DataFrame, bounds: pd.DataFrame, scale: str) -> Iterator[str]:
    total = int(counts["missing"].sum())
    if not total:
        return
    worst = counts[counts["missing"] > 0].sort_values("share", ascending=False, kind="stable")
    named = [
        f"{judge} on {model} {row.missing:,} of {row.calls:,}"
        for (judge, model), row in zip(worst.index, worst.itertuples(), strict=True)
    ]
    widest = int(np.argmax(bounds["high"] - bounds["low"]))
    low, high = bounds["low"].iloc[widest], bounds["high"].iloc[widest]
    yield (
        f"Missing scores: {total:,} ({listed(named)}). They are treated as missing at random: as "
        "if they would have looked like the others of the same judge and scenario. Whatever "
        f"they would have been {scale}, the panel mean of {bounds.index[widest]} lies "
        f"between {low:.4g} and {high:.4g}."
    )


def _silent(scores: ScoreTable, counts: pd.DataFrame) -> Iterator[str]:
    """Name the judges and models that have calls but no score."""
    for facet, present, what in (
        ("judge", scores.judges, "not in the panel"),
        ("model", scores.models, "left out"),
    ):
        called = list(dict.fromkeys(counts.index.get_level_values(facet)))
        scored = set(present)
        silent = [label for label in called if label not in scored]
        if silent:
            one = len(silent) == 1
            yield (
                f"All calls {'of' if facet == 'judge' else 'on'} {listed(silent)} are missing: "
                f"{'it is' if one else 'they are'} {what}. See why the replies could not be "
                "scored, and call again."
            )


def _subsets(scores: ScoreTable, details: Sequence[ModelDesign]) -> Iterator[str]:
    panel = len(scores.judges)
    for judges, some in _gathered(details, lambda d: d.judges).items():
        if len(judges) == panel:
            continue
        there = set(judges)
        lacking = [judge for judge in scores.judges if judge not in there]
        models = listed([d.model for d in some])
        one = len(some) == 1
        yield (
            f"{models} {'was' if one else 'were'} scored by {len(judges):,} of "
            f"{counted(panel, 'judge')} (not by {listed(lacking)}). "
            f"{'Its panel mean is' if one else 'Their panel means are'} over that judge subset "
            "only and can't be compared with the others as "
            f"{'it stands' if one else 'they stand'}: add the missing calls, or compare on the "
            "judges in common."
        )


def _unconnected(scores: ScoreTable, details: Sequence[ModelDesign]) -> Iterator[str]:
    apart = [detail for detail in details if len(detail.blocks) > 1]
    groups = _gathered(apart, lambda d: tuple(block.judges for block in d.blocks))
    for blocks, some in groups.items():
        named = [
            f"{{{listed([scores.judges[j] for j in judges])}}} on "
            f"{_span((len(d.blocks[k].scenarios) for d in some), ',')} "
            f"{'scenario' if all(len(d.blocks[k].scenarios) == 1 for d in some) else 'scenarios'}"
            for k, judges in enumerate(blocks[:SHOWN])
        ]
        more = f"; and {len(blocks) - SHOWN:,} more" if len(blocks) > SHOWN else ""
        pair = [scores.judges[judges[0]] for judges in blocks[:2]]
        sizes = [_error(detail, pair) for detail in some]
        how_much = (
            f"the standard error of {pair[0]} minus {pair[1]} is about {_span(sizes, '.3g')} "
            "points, scenario variance included"
            if np.all(np.isfinite(sizes))
            else "no standard error can be given for a judge with one scenario"
        )
        yield (
            f"{_named(some, details)}The judges fall into {len(blocks):,} groups that share no "
            f"scenario ({'; '.join(named)}{more}). Offsets between groups rest on the scenarios "
            f"being exchangeable and randomly assigned: {how_much}. Let some scenarios be scored "
            "by judges of several groups to compare them directly."
        )


def _error(detail: ModelDesign, pair: Sequence[str]) -> float:
    """Give the standard error of the difference of two judges with no scenario in common."""
    place = {judge: k for k, judge in enumerate(detail.judges)}
    return float(np.hypot(*(detail.offset_errors[place[judge]] for judge in pair)))


def _thin(details: Sequence[ModelDesign]) -> Iterator[str]:
    def weak(detail: ModelDesign) -> tuple[str, ...]:
        return tuple(name for name, df in detail.freedom.items() if df < FEW_DF)

    for names, some in _gathered(details, weak).items():
        if names:
            listing = [
                f"{name} ({_span((d.freedom[name] for d in some), 'd')} df)" for name in names
            ]
            one = len(names) == 1
            yield (
                f"{_named(some, details)}Few degrees of freedom for {', '.join(listing)}: "
                f"{'this variance' if one else 'these variances'} will lean on "
                f"{'its prior' if one else 'their priors'}. Compare fits with --prior-scale 0.5 "
                "and 2."
            )


def _absent(details: Sequence[ModelDesign]) -> Iterator[str]:
    by_text: dict[str, list[ModelDesign]] = {}
    for detail in details:
        for text in _absent_from(detail):
            by_text.setdefault(text, []).append(detail)
    for text, some in by_text.items():
        yield f"{_named(some, details)}{text}"


def _absent_from(detail: ModelDesign) -> Iterator[str]:
    absent = detail.structure.absent
    if "scenario" in absent:
        yield (
            "There is one scenario: nothing can be said about variance between scenarios, and "
            "the panel mean is that of this scenario. Add scenarios to say more."
            if detail.scenarios == 1
            else "Each judge scored one scenario only: variance between scenarios can't be told "
            "from differences between judges. Let judges share scenarios, or score several."
        )
    if "generation" in absent and "residual" not in absent:
        yield (
            "Each judge scored one generation only: variance between generations can't be "
            "seen. Add generations to learn how much they vary."
        )
    if "judge" in absent:
        yield (
            "There is one judge: its leniency can't be seen, and the panel mean is its mean. "
            "Add a second judge to learn how much judges differ."
        )
    if "residual" in absent:
        yield (
            "There are no degrees of freedom for a residual: no model can be fitted. Add a second "
            "scenario, a second generation or repeated calls."
        )
    for block in detail.structure.entangled:
        yield (
            f"{', '.join(block)} are {MIXED}. "
            + (
                "Fit model linear-paper, which has no scenario:judge, or let"
                if detail.plain
                else "Let"
            )
            + " a few scenarios be scored by two judges on two generations."
        )


def _duplicates(pairs: pd.DataFrame) -> Iterator[str]:
    """Gather judges that say nearly the same, from pairs of them."""
    groups: list[set[str]] = []
    for pair in zip(pairs["judge_a"], pairs["judge_b"], strict=True):
        joined = set(pair).union(*(group for group in groups if group & set(pair)))
        groups = [group for group in groups if not group & joined] + [joined]
    for group in groups:
        own = pairs[pairs["judge_a"].isin(group)]
        names = list(dict.fromkeys([*own["judge_a"], *own["judge_b"]]))
        alike = own["correlation"].dropna().to_numpy()
        beyond = (
            f", correlation {_span(alike, '.2f')} beyond the rest of the panel"
            if len(alike)
            else ""
        )
        yield (
            f"{counted(len(names), 'judge')} say nearly the same: {listed(names)} "
            f"({_span(own['equal'], '.1%')} equal scores on {_span(own['common'], ',')} "
            f"generations{beyond}). If they are one model under several prompts, they count "
            f"hardly more than one opinion but weigh {len(names)} times in the panel mean: keep "
            "one of them, or say so."
        )


def as_text(design: Audit) -> str:
    """Write the audit of a table as plain text."""
    lines = [design.models.to_string(max_rows=MOST_ROWS)]
    same = _gathered(design.details, lambda d: tuple(design.by_model[d.model].items()))
    for k, (known, some) in enumerate(same.items()):
        if k == SHOWN:
            lines += ["", f"{counted(len(same) - SHOWN, 'more kind')} of design: see `by_model`."]
            break
        of = "" if len(same) == 1 else f" in {listed([d.model for d in some])}"
        told = _told(dict(known), some)
        width = max(map(len, told))
        lines += ["", f"What the data can tell apart{of}:"]
        lines += [f"  {name:<{width}}  {verdict}" for name, verdict in told.items()]
    for title, texts in (("Notes", design.notes), ("Warnings", design.warnings)):
        if texts:
            lines += ["", f"{title}:"] + [f"  - {text}" for text in texts]
    return "\n".join(lines)


def identified(design: Audit) -> dict[str, str]:
    """Say of each component or sum what the data can know of it, for all evaluated models."""
    return _told(design.identifiable, design.details)


def _told(known: Mapping[str, bool | str], details: Sequence[ModelDesign]) -> dict[str, str]:
    found: dict[str, str] = {}
    for term, verdict in known.items():
        if verdict is True:
            found[term] = "identified"
        elif verdict is False:
            found[term] = "can't be seen in these data"
        else:
            found[str(verdict)] = _why(set(parts(str(verdict))), details)
    return found


def _why(terms: set[str], details: Sequence[ModelDesign]) -> str:
    """Say why some terms are known only in a sum, and for which evaluated models."""
    by_reason: dict[str, list[ModelDesign]] = {}
    entangled = False
    for detail in details:
        entangled |= any(terms.issuperset(block) for block in detail.structure.entangled)
        for name, because in detail.why.items():
            if terms.issuperset(parts(name)):
                for reason in because:
                    by_reason.setdefault(reason, []).append(detail)
    if entangled:
        return MIXED
    told = [
        reason if len(some) == len(details) else f"{reason} ({listed([d.model for d in some])})"
        for reason, some in by_reason.items()
    ]
    return f"one sum: {'; '.join(told)}"
