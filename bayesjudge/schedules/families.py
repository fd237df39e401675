"""Which judge may score which model, when none may score its own family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import BayesJudgeError
from bayesjudge.schedules.rotation import BoolArray, Plan
from bayesjudge.scores.labels import read_labels
from bayesjudge.scores.raw import RawTable
from bayesjudge.wording import did_you_mean, listed, quoted


def may_score(
    panel: Sequence[str],
    models: Sequence[str],
    families: Mapping[str, str] | None,
    exclude: bool,
) -> BoolArray:
    """Say who may score whom.

    Parameters
    ----------
    panel, models : sequence of str
        Judges and evaluated models; `models` may be empty.
    families : mapping, optional
        Of a judge or model its family; a name that is not in it is a family of its own.
    exclude : bool
        Whether judges may not score their own family.

    Returns
    -------
    bool array, shape (models or 1, judges)

    Raises
    ------
    BayesJudgeError
        When families are given for nothing, of nobody, or in two spellings; when nobody may score
        a model.
    """
    if not exclude:
        if families is not None:
            raise BayesJudgeError(
                "families= does nothing without exclude_own_family=True (--exclude-own-family)."
            )
        return np.ones((max(len(models), 1), len(panel)), dtype=bool)
    if not models:
        raise BayesJudgeError(
            "exclude_own_family needs the models (models=, --models): without their names, no "
            "judge's own family is known."
        )
    of = read_families(panel, models, families)
    allowed = np.array([[of[judge] != of[model] for judge in panel] for model in models])
    for model, row in zip(models, allowed, strict=True):
        if not row.any():
            raise BayesJudgeError(
                f"nobody may score the model {model!r}: every judge ({quoted(panel)}) is of its "
                f"family, {of[model]!r}. Add a judge of another family, or leave the model out."
            )
    return allowed


def require_enough(plan: Plan) -> None:
    """Refuse more judges on each generation than may score a model."""
    need = plan.strategy.judges
    if plan.strategy.kind == "all":
        return
    for model, row in zip(plan.models, plan.allowed, strict=False):
        if row.sum() < need:
            fewer = "a smaller subset" if plan.strategy.kind == "subset" else "fewer in turn"
            raise BayesJudgeError(
                f"{plan.strategy.name} needs {need} judges, and only {row.sum()} may score the "
                f"model {model!r}: the others are of its family. Ask for {fewer}."
            )


def exclusion_notes(plan: Plan) -> list[str]:
    """Say whom the exclusion keeps from scoring whom, and what follows."""
    shut = ~plan.allowed
    if not shut.any():
        text = (
            "No judge shares a family with a model, so none was excluded. Families are by name: "
            "families= (--family) says which judges and models are one."
        )
        return [text]
    names = np.array(plan.panel, dtype=object)
    notes = []
    for model, row in zip(plan.models, shut, strict=True):
        if not row.any():
            continue
        text = f"Model {model!r} is not scored by {quoted(names[row])}, of its own family"
        if plan.strategy.kind == "all":
            left = plan.generations * int((~row).sum())
            text += f": {left} calls for each scenario instead of {plan.budget}"
        notes.append(f"{text}.")
    idle = names[shut.all(axis=0)]
    if len(idle):
        notes.append(f"Every model is of the family of {quoted(idle)}: no calls.")
    if (shut != shut[0]).any():
        notes.append(
            "Models are scored by different judges, so their means are not on one panel's scale: "
            "in their differences, the offsets of the judges do not cancel."
        )
    return notes


def read_families(
    panel: Sequence[str], models: Sequence[str], families: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the family of every judge and model.

    Parameters
    ----------
    panel, models, families
        As for `may_score`.

    Raises
    ------
    BayesJudgeError
        When it is no mapping, names nobody, or leaves a family blank or in two spellings.
    """
    names = list(dict.fromkeys([*panel, *models]))
    given = {} if families is None else families
    if not isinstance(given, Mapping):
        raise BayesJudgeError(
            f"families is of type {type(given).__name__}: it must be a mapping of judge or model "
            "to family, such as {'gpt-4o': 'openai'}."
        )
    known = {str(name).strip(): family for name, family in given.items()}
    strange = [name for name in known if name not in names]
    if strange:
        raise BayesJudgeError(
            f"families names {strange[0]!r}, which is no judge and no model."
            f"{did_you_mean(strange[0], names)} Judges and models: {listed(names, limit=20)}."
        )
    blank = [name for name, family in known.items() if not str(family or "").strip()]
    if blank:
        raise BayesJudgeError(f"families: the family of {blank[0]!r} is blank. Name it.")
    return dict(zip(names, _read(pd.Series([known.get(n, n) for n in names])), strict=True))


def _read(values: pd.Series) -> list[Any]:
    # "OpenAI" and "openai" would let a judge score its own family, and nothing would say so.
    raw = RawTable(pd.DataFrame({"family": values.astype(object)}), "families")
    labels, _ = read_labels(raw.frame["family"], "family", raw)
    return list(labels)
