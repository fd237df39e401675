"""What the audit of a run says, in words. The numbers are computed elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from bayesjudge.allocations.sources import Source
from bayesjudge.schedules.rotation import IntArray
from bayesjudge.schedules.runs import Run
from bayesjudge.wording import counted, listed, quoted

_FAILS = 0.05  # of all tests of who fails more, together
_UNEQUAL = 0.001
_MOST_LIKE = 8  # sentences of one kind
_MOST_ROWS = 40

NONE = "no known strategy"


@dataclass(frozen=True, eq=False)
class Facts:
    """What was found; see `bayesjudge.schedules.audits.Audit`.

    Attributes
    ----------
    runs, shares, departures, aliasing, variance, strategies
        As there.
    more : tuple of bool
        Whether a model's variance is well above what was planned.
    named : bool
        Whether the strategy was named.
    planned : DataFrame, optional
        Calls of the schedule.
    family : dict, optional
        Of each judge and model.
    components : Source, optional
    target : str
    """

    runs: tuple[Run, ...]
    shares: pd.DataFrame
    departures: pd.DataFrame
    aliasing: pd.DataFrame
    variance: pd.DataFrame
    more: tuple[bool, ...]
    strategies: tuple[str, ...]
    named: bool
    planned: pd.DataFrame | None
    family: Mapping[str, str] | None
    components: Source | None
    target: str


def notes(facts: Facts) -> Iterator[str]:
    """Say what was assumed, and what is worth knowing and no fault."""
    if not facts.named and facts.planned is None:
        yield from _looks_like(facts)
    yield from _not_tested(facts)
    yield from _aliased(facts, of_rotation=True)
    yield (
        "The score is the mean of the scored calls; its variance is that around the panel mean "
        + ("of these scenarios." if facts.target == "benchmark" else "over scenarios like these.")
    )
    if facts.components is None:
        yield "No components were given, so coefficients stand without standard errors."
    else:
        yield from facts.components.notes
    reasons = [text for text in dict.fromkeys(facts.variance["reason"]) if text]
    for text in reasons:
        yield f"{text[0].upper()}{text[1:]}."


def warnings(facts: Facts) -> Iterator[str]:
    """Say what is wrong with the run."""
    if facts.components is not None and not facts.components.passed:
        yield f"The fit failed its diagnostics: {listed(facts.components.problems)}."
    for kind in (
        _unequal(facts),
        _failing(facts),
        _unscored(facts),
        _departed(facts),
        _aliased(facts, of_rotation=False),
        _less_precise(facts),
        _own_family(facts),
    ):
        yield from _first(kind)


def _first(texts: Iterable[str]) -> Iterator[str]:
    found = list(texts)
    yield from found[:_MOST_LIKE]
    more = len(found) - _MOST_LIKE
    if more > 0:
        yield f"There {'is' if more == 1 else 'are'} {counted(more, 'more warning')} like the last."


def _looks_like(facts: Facts) -> Iterator[str]:
    models: dict[str, list[str]] = {}
    for run, name in zip(facts.runs, facts.strategies, strict=True):
        models.setdefault(name, []).append(run.model)
    for name, some in models.items():
        of = "The calls" if len(models) == 1 else f"The calls of {listed(some)}"
        yield (
            f"{of} look like strategy {name!r}: {_like(name)}."
            if name
            else f"{of} look like {NONE}: judges differ in number from answer to answer, or their "
            "shares are not those of a rotation."
        )


def _like(name: str) -> str:
    if name == "all":
        return "every judge was asked to score every generation"
    if name == "single" or name.startswith("subset"):
        return "the same judges were asked to score every generation, and others nothing"
    many = name.removeprefix("cyclic-") if name[-1].isdecimal() else "one"
    judges = "one judge" if many == "one" else f"{many} judges"
    shares = "the same in every scenario" if name == "cyclic-restart" else "equal to within one"
    return f"{judges} asked on each generation, and numbers of calls {shares}"


def _not_tested(facts: Facts) -> Iterator[str]:
    """Say why columns were not tested for aliasing."""
    left_out = facts.aliasing[facts.aliasing["reason"] != ""]
    for reason, rows in left_out.groupby("reason", sort=False):
        models = _of_models(rows.index.get_level_values("model").unique(), facts)
        columns = list(dict.fromkeys(rows.index.get_level_values("column")))
        every = len(columns) == facts.aliasing.index.get_level_values("column").nunique()
        what = "nothing was" if every else f"{quoted(columns)} not"
        yield f"{models}{what} tested for aliasing: {reason}."


def _of_models(models: Iterable[str], facts: Facts) -> str:
    """Name the evaluated models that something is said of, unless it is all of them."""
    some = list(models)
    return "" if len(some) == len(facts.runs) > 1 else f"{listed(some)}: "


def _unequal(facts: Facts) -> Iterator[str]:
    for run, name in zip(facts.runs, facts.strategies, strict=True):
        answered, asked = run.answered, run.asked
        here = _who_counts(run, facts)
        if here.sum() < 2 or not answered.sum():
            continue
        names = np.array(run.panel, dtype=object)[here]
        scored = answered[here]
        equal = scored.sum() / len(scored)
        high, low = int(scored.argmax()), int(scored.argmin())
        spread = (
            f"{run.model}: scored calls go from {scored[low]:,} ({names[low]}) to "
            f"{scored[high]:,} ({names[high]}), and an equal share is {equal:.4g}."
        )
        # By a schedule with other shares nobody is counted here.
        planned = f"With {name}" if _is_rotation(name) else "By the schedule"
        if _is_rotation(name) or facts.planned is not None:
            if np.ptp(scored) > 1:
                why = (
                    " All were asked alike: failed calls made the difference."
                    if np.ptp(asked[here]) <= 1
                    else f" {planned} they differ by one call at most."
                )
                yield f"{spread}{why} Who scores more weighs more in the mean of the calls."
        elif name in ("", "random"):
            p = float(stats.chisquare(scored).pvalue)
            if p < _UNEQUAL:
                yield (
                    f"{spread} Judges drawn by chance would hardly differ so much (chi-squared "
                    f"test, p = {p:.2g}). Who scores more weighs more in the mean of the calls."
                )


def _who_counts(run: Run, facts: Facts) -> np.ndarray:
    """Say which judges were to have equal shares: not those who were to have none."""
    here = np.ones(len(run.panel), dtype=bool)
    if facts.planned is not None:
        due = facts.planned[facts.planned["model"] == run.model]["judge"].value_counts()
        calls = due.reindex(run.panel, fill_value=0).to_numpy()
        here = calls > 0
        if here.any() and np.ptp(calls[here]) > 1:  # planned so: departures tell the rest
            return np.zeros(len(here), dtype=bool)
    if facts.family is not None:
        own = np.array([facts.family[j] == facts.family[run.model] for j in run.panel])
        here &= ~(own & (run.asked == 0))
    return here


def _is_rotation(name: str) -> bool:
    return name == "all" or (name.startswith("cyclic") and name != "cyclic-restart")


def _failing(facts: Facts) -> Iterator[str]:
    p = facts.shares["p_fails_more"]
    tests = max(int(p.notna().sum()), 1)
    bad = facts.shares[(p < _FAILS / tests) & (facts.shares["missing"] > 0)]
    for place in np.argsort(bad["p_fails_more"].to_numpy(), kind="stable"):
        (model, judge), row = bad.index[place], bad.iloc[place]
        yield (
            f"{judge} fails more than the others on {model}: {row['missing']:,.0f} of "
            f"{counted(int(row['calls']), 'call')} without a score ({row['missing_rate']:.0%}), "
            f"the others {row['missing_rate_others']:.1%} (Fisher's exact test, p = "
            f"{row['p_fails_more']:.2g}, below .05 over {tests} tests). If it fails on answers "
            "that it would score low or high, its mean is off: see why, and call again."
        )


def _unscored(facts: Facts) -> Iterator[str]:
    for run in facts.runs:
        lost = run.n_scenarios - len(np.unique(run.scenario[run.scored]))
        if lost:
            yield (
                f"{run.model}: {counted(lost, 'scenario has', 'scenarios have')} no score at all, "
                f"of {run.n_scenarios:,}. The mean leaves "
                f"{'it' if lost == 1 else 'them'} out: call again."
            )


def _departed(facts: Facts) -> Iterator[str]:
    for model, row in facts.departures.iterrows():
        said = [
            f"{row[kind]:,} {words}"
            for kind, words in (
                ("replaced", "replaced by another judge"),
                ("failed", "without a score"),
                ("not_made", "not made"),
            )
            if row[kind]
        ]
        of = f"of {counted(int(row['planned']), 'planned call')} {', '.join(said)}"
        beside = f"{row['unplanned']:,} made that nobody planned" if row["unplanned"] else ""
        if said or beside:
            parts = [text for text in (of if said else "", beside) if text]
            yield f"{model} departs from the schedule: {'; '.join(parts)}."


def _aliased(facts: Facts, of_rotation: bool) -> Iterator[str]:
    """Say what is aliased with the judge: what the rotation explains, or all else."""
    strategy = dict(zip((run.model for run in facts.runs), facts.strategies, strict=True))
    told: dict[tuple[str, ...], list[str]] = {}
    flagged = facts.aliasing[facts.aliasing["flagged"]]
    for place, (model, column) in enumerate(flagged.index):
        row = flagged.iloc[place]
        explained = column == "generation" and strategy[model].startswith("cyclic")
        if explained == of_rotation:
            told.setdefault((column, _alias(column, row)), []).append(model)
    for (column, text), models in told.items():
        said = f"{listed(models)}: {text}"
        if of_rotation:
            yield (
                f"{said} The rotation brings the same judges to the same place in each scenario. "
                "That is harmless where generations are exchangeable draws; where they are turns, "
                "say, what judges make of each can't be told apart."
            )
        else:
            yield (
                f"{said} Differences between judges and between values of {column!r} can't be told "
                "apart there. Assign judges by a shuffled rotation (assign), or compare within "
                "values."
            )


def _alias(column: str, row: pd.Series) -> str:
    where = (
        f"{row['judge']} has {row['observed']:,.0f} scored calls where {column} is "
        f"{row['value']!r}, and {row['expected']:,.1f} would be its share"
        if row["measure"] != "eta²"
        else f"the calls of {row['judge']} have a mean {column} of {row['observed']:.4g}, and all "
        f"have {row['expected']:.4g}"
    )
    return (
        f"which judge scores depends on {column!r} ({row['measure']} {row['effect']:.2f}, p = "
        f"{row['p_value']:.2g}): {where}."
    )


def _less_precise(facts: Facts) -> Iterator[str]:
    for model, more in zip(facts.variance.index, facts.more, strict=True):
        row = facts.variance.loc[model]
        if not more:
            continue
        errors = (
            ""
            if np.isnan(row["se_ratio"])
            else f": the standard error is {row['se_executed']:.3g} instead of "
            f"{row['se_planned']:.3g} ({row['se_ratio'] ** 2 - 1:.0%} more variance)"
        )
        yield f"{model}: the run as executed is less precise than planned{errors}."


def _own_family(facts: Facts) -> Iterator[str]:
    if facts.family is None:
        return
    for run in facts.runs:
        asked: IntArray = run.answered
        own = [
            f"{asked[k]:,} by {judge}"
            for k, judge in enumerate(run.panel)
            if asked[k] and facts.family[judge] == facts.family[run.model]
        ]
        if own:
            yield (
                f"{run.model} was scored by judges of its own family "
                f"({facts.family[run.model]!r}): {listed(own)} of {asked.sum():,} scored calls."
            )


def as_text(tables: Mapping[str, pd.DataFrame], said: Sequence[str], warned: Sequence[str]) -> str:
    """Write an audit as plain text."""
    lines: list[str] = []
    for title, table in tables.items():
        if len(table):
            lines += [f"{title}:", table.to_string(max_rows=_MOST_ROWS), ""]
    for title, texts in (("Notes", said), ("Warnings", warned)):
        if texts:
            lines += [f"{title}:", *(f"  - {text}" for text in texts), ""]
    return "\n".join(lines).rstrip()
