"""Where variance components come from: a fit, a table of estimates, or numbers given by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesjudge.allocations.design import require_panel
from bayesjudge.allocations.variance import require_components
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError
from bayesjudge.posterior.components import components
from bayesjudge.terms import TERMS, parts
from bayesjudge.tree import require_fit
from bayesjudge.wording import listed, quoted

FloatArray = NDArray[np.float64]

GIVEN = "given"  # what the evaluated model is called when components were given by hand


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of one evaluated model's variance components.

    Attributes
    ----------
    model : str
        Its label.
    variances : dict of float array, shape (chains, draws)
        By component or sum (score²); one draw where there is an estimate alone.
    unknown : tuple of str
        Terms that the data could not show: they may be anything. A term that is neither here nor
        in `variances` is zero, because the model of the scores has none.
    panel_size : int
        Judges in the panel.
    n_scenarios : int, optional
        Scenarios that were scored.
    judges : tuple of str
        Labels of the panel, where they are known.
    own_residuals : float array, shape (chains, draws, judges), optional
        Residual variances by judge (score²), where judges have their own.
    """

    model: str
    variances: Mapping[str, FloatArray]
    unknown: tuple[str, ...]
    panel_size: int
    n_scenarios: int | None
    judges: tuple[str, ...] = ()
    own_residuals: FloatArray | None = None

    @property
    def size(self) -> tuple[int, ...]:
        """Chains and draws."""
        return next(iter(self.variances.values())).shape


@dataclass(frozen=True, eq=False)
class Source:
    """What is known of variance components.

    Attributes
    ----------
    models : tuple of Known
        One for each evaluated model.
    shape : tuple of int
        Chains and draws; 1 and 1 for estimates.
    relative_sums : bool
        Whether the parts of sums are all relative to the panel, as those of an ordinal fit.
    tree : DataTree, optional
        The fit, if it is one.
    notes : tuple of str
        What was assumed.
    """

    models: tuple[Known, ...]
    shape: tuple[int, int]
    relative_sums: bool = False
    tree: xr.DataTree | None = None
    notes: tuple[str, ...] = ()

    def only(self, models: Sequence[str] | None) -> Source:
        """Keep some evaluated models, in the order given; all if None."""
        if models is None:
            return self
        by_name = {one.model: one for one in self.models}
        names = [models] if isinstance(models, str) else list(models)
        unknown = [name for name in names if name not in by_name]
        if unknown or not names or len(set(names)) < len(names):
            raise BayesJudgeError(
                f"models = {names!r} must be evaluated models of the source, each once: "
                f"{quoted(by_name)}."
            )
        return replace(self, models=tuple(by_name[name] for name in names))

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the fit."""
        said = "" if self.tree is None else str(self.tree.attrs["problems"])
        return tuple(said.splitlines())

    @property
    def coords(self) -> dict[str, Any]:
        """Return the coordinates of what is worked out for each draw and evaluated model."""
        return {
            "chain": np.arange(self.shape[0]),
            "draw": np.arange(self.shape[1]),
            "model": [one.model for one in self.models],
        }

    @property
    def attrs(self) -> dict[str, str]:
        """Return what any result has to say of where it comes from."""
        return {
            "notes": "\n".join(self.notes),
            "verdict": "passed" if self.passed else "failed",
            "problems": "\n".join(self.problems),
        }

    @property
    def passed(self) -> bool:
        """Whether the fit passed its diagnostics; estimates have none to fail."""
        return self.tree is None or self.tree.attrs["verdict"] == "passed"


def read_source(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    panel_size: int | None = None,
) -> Source:
    """Read variance components from whatever holds them.

    Parameters
    ----------
    source : DataTree, DataFrame or mapping
        A fit; a table of `bayesjudge.anova` or `bayesjudge.reml`; or components by name, as numbers
        or as draws of one length (score²).
    panel_size : int, optional
        Judges in the panel: for components by name. A fit and a table know it.

    Returns
    -------
    Source

    Raises
    ------
    BayesJudgeError
        When it is none of these, when components can't be variances, or when the panel's size is
        missing or is another.
    """
    if isinstance(source, xr.DataTree):
        return _of_fit(source, panel_size)
    if isinstance(source, pd.DataFrame):
        return _of_table(source, panel_size)
    if isinstance(source, Mapping):
        return _of_numbers(source, panel_size)
    raise BayesJudgeError(
        f"variance components can't be read from a {type(source).__name__}: give a fit, a table of "
        "anova or reml, or a mapping such as {'generation': 0.2, 'judge': 0.9, ...}."
    )


def _of_fit(tree: xr.DataTree, panel_size: int | None) -> Source:
    require_fit(tree)
    variance = components(tree)
    structure = json.loads(tree.attrs["structure"])
    ordinal = tree.attrs["family"] == "cumulative"
    sizes = tree["constant_data"].to_dataset()
    found: list[Known] = []
    left_out: dict[str, None] = {}
    for t, label in enumerate(map(str, variance["model"].to_numpy())):
        own = structure[label]
        panel = int(sizes["n_judges"][t])
        _require_same("panel_size", panel_size, panel, label)
        known = {
            name: variance.sel(component=name).isel(model=t).to_numpy()
            for name in own["components"]
        }
        unknown = list(own["absent"])
        if ordinal:  # the interaction of an effect that can't be seen can't be seen either
            unknown += [f"{name}:judge" for name in own["absent"] if f"{name}:judge" in TERMS]
        judges = tuple(
            str(name) for name in sizes["judge"].to_numpy()[sizes["n_calls"][t].to_numpy() > 0]
        )
        scenarios = int(sizes["n_scenarios"][t])
        own_residuals = _own_residuals(tree, t, judges)
        found.append(Known(label, known, tuple(unknown), panel, scenarios, judges, own_residuals))
        left_out |= dict.fromkeys(_zero(known, unknown))
    return Source(
        tuple(found),
        (variance.sizes["chain"], variance.sizes["draw"]),
        relative_sums=ordinal,
        tree=tree,
        notes=_taken_as_zero(f"the model {tree.attrs['model']}", left_out),
    )


def _own_residuals(tree: xr.DataTree, t: int, judges: tuple[str, ...]) -> FloatArray | None:
    """Return the residual variances of the judges of one evaluated model, if they differ."""
    for array in tree["posterior"].to_dataset().data_vars.values():
        if "residual" in parts(str(array.attrs.get("component", ""))) and "judge" in array.dims:
            own = array.isel(model=t) if "model" in array.dims else array
            own = own.sel(judge=list(judges)).transpose("chain", "draw", "judge")
            variance: FloatArray = own.to_numpy() ** 2
            return variance
    return None


def _of_table(table: pd.DataFrame, panel_size: int | None) -> Source:
    sizes = table.attrs.get("sizes")
    if "estimate" not in table or table.index.names != ["model", "component"] or not sizes:
        raise BayesJudgeError(
            "the table is not one of bayesjudge.anova or bayesjudge.reml as they return it: it "
            "needs their index (model, component), the column estimate and attrs['sizes'] "
            f"(columns here: {listed(list(table.columns))}). Give components by name instead."
        )
    found: list[Known] = []
    left_out: dict[str, None] = {}
    notes = [str(note) for note in table.attrs.get("notes", ())]
    for label, rows in table["estimate"].groupby(level="model", sort=False):
        own = sizes[str(label)]
        _require_same("panel_size", panel_size, own["judges"], str(label))
        known = {
            str(name): np.full((1, 1), value) for name, value in rows.droplevel("model").items()
        }
        unknown = tuple(own["absent"])
        found.append(Known(str(label), known, unknown, own["judges"], own["scenarios"]))
        left_out |= dict.fromkeys(_zero(known, unknown))
    notes += _taken_as_zero("the analysis", left_out)
    return Source(tuple(found), (1, 1), notes=tuple(dict.fromkeys(notes)))


def _of_numbers(given: Mapping[str, ArrayLike], panel_size: int | None) -> Source:
    if panel_size is None:
        raise BayesJudgeError(
            "components given by name need the number of judges in the panel: panel_size=5."
        )
    K = require_panel(panel_size)
    values = require_components(given)
    lengths = {name: array.size for name, array in values.items() if array.ndim}
    if any(array.ndim > 1 for array in values.values()) or len(set(lengths.values())) > 1:
        shapes = ", ".join(f"{name}: {array.shape}" for name, array in values.items())
        raise BayesJudgeError(
            f"components must be numbers, or draws of one length; their shapes are {shapes}."
        )
    draws = max(lengths.values(), default=1)
    known = {name: np.broadcast_to(array, (1, draws)) for name, array in values.items()}
    named = {term for name in known for term in parts(name)}
    # The published model has no interactions, and its four components are what people have.
    unknown = tuple(term for term in TERMS if term not in named and ":" not in term)
    left_out = dict.fromkeys(_zero(known, unknown))
    notes = _taken_as_zero("what was given", left_out)
    return Source((Known(GIVEN, known, unknown, K, None),), (1, draws), notes=notes)


def _require_same(name: str, given: Any, own: int, label: str) -> None:
    if given is not None and require_whole(name, given, 1) != own:
        raise BayesJudgeError(
            f"{name} = {given!r}, and {label} was scored by {own} judges: its components are "
            "relative to these. Leave it out, or give components by name."
        )


def _zero(known: Mapping[str, Any], unknown: tuple[str, ...] | list[str]) -> list[str]:
    """Name the terms that the model of the scores does not have."""
    named = {term for name in known for term in parts(name)}
    return [term for term in TERMS if term not in named and term not in unknown]


def _taken_as_zero(who: str, terms: Mapping[str, Any]) -> tuple[str, ...]:
    # Without repeated calls generation:judge is in the other components, where it is weighed right.
    said_of = [term for term in terms if term != "generation:judge"]
    if not said_of:
        return ()
    said = f"{who} has no {' and no '.join(said_of)}: taken as 0."
    if "scenario:judge" in terms:
        said += (
            " If judges do react differently to scenarios, the residual holds some of that, and "
            "the variance of cyclic judges is overstated."
        )
    return (said,)
