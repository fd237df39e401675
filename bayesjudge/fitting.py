"""Run an engine on a table and put everything that follows from its draws into one tree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import xarray as xr

from bayesjudge.design.check import check
from bayesjudge.design.details import why_sums
from bayesjudge.engines.conditional import panel_draws
from bayesjudge.engines.diagnostics import diagnose
from bayesjudge.engines.draws import SigmaDraws
from bayesjudge.errors import FitError
from bayesjudge.layout import Layout, lay_out
from bayesjudge.scores import ScoreTable, require_table
from bayesjudge.specs import read_spec
from bayesjudge.tree import assemble

ENGINES = ("nuts",)


def fit(
    scores: ScoreTable,
    model: str | Path = "linear",
    engine: str = "nuts",
    *,
    seed: int | None = None,
    chains: int = 4,
    draws: int = 1000,
    tune: int = 500,
    prior_scale: float = 1.0,
    progress: bool = False,
    on_stage: Callable[[str], None] | None = None,
) -> xr.DataTree:
    """Fit a model to a score table.

    Parameters
    ----------
    scores : ScoreTable
        From `bayesjudge.read_scores` or `bayesjudge.example`.
    model : str or Path
        A shipped specification ("linear", "linear-paper", "linear-judge-residual") or the path
        of a TOML file.
    engine : str
        "nuts".
    seed : int, optional
        The same seed gives the same numbers on the same machine. Without one, a seed is drawn
        and recorded.
    chains, draws, tune : int
        Chains, and kept and warm-up draws in each.
    prior_scale : float
        Multiplies the priors of all standard deviations, to see what depends on them: 2 for
        twice as wide, 0.5 for half.
    progress : bool
        Whether to show the sampler's progress bar.
    on_stage : callable, optional
        Called with a short text when each stage of the work begins.

    Returns
    -------
    DataTree
        In ArviZ's layout: ``posterior`` (``sigma_*``, ``mu``, ``gamma``), ``sample_stats``,
        ``log_likelihood`` (by scenario, effects integrated out), ``log_prior``,
        ``observed_data`` (the calls, up to a million), ``constant_data`` (sufficient
        statistics), and attributes that record model, engine, seed, versions, diagnostics, the
        warnings of the table's audit, and why some components are known only as sums.

    Raises
    ------
    SpecError
        When the model is unknown or its file is not of the documented form.
    DesignError
        When the table can't carry the model.
    FitError
        When a setting is out of range or the sampler can't start.
    """
    require_table(scores)
    _refuse(engine, chains, draws, tune, prior_scale, seed)
    say = on_stage or (lambda stage: None)
    say("auditing the table")
    design = check(scores)
    say("laying the model on the table")
    layout = lay_out(scores, read_spec(model), prior_scale)
    used = seed if seed is not None else int(np.random.SeedSequence().generate_state(1)[0])
    say("compiling and sampling")
    sampled = _sample(layout, used, chains, draws, tune, progress)
    say("drawing panel means and judge offsets")
    flat = sampled.sigma.reshape(chains * draws, -1)
    try:
        panel = panel_draws(layout, flat, np.random.default_rng(used))
    except np.linalg.LinAlgError as error:
        raise FitError(
            "the draws reach standard deviations so small beside others that the conditional "
            "distributions can't be computed. Is a judge's score a function of the others?"
        ) from error
    say("checking the fit")
    tree = assemble(layout, scores, sampled, panel, diagnose, seed=used, prior_scale=prior_scale)
    tree.attrs |= {"warnings": "\n".join(design.warnings), "sums": json.dumps(_sums(layout))}
    return tree


def _sample(
    layout: Layout, seed: int, chains: int, draws: int, tune: int, progress: bool
) -> SigmaDraws:
    # PyMC takes seconds to import, and only this engine needs it.
    from bayesjudge.engines import nuts

    try:
        return nuts.sample(
            layout, seed=seed, chains=chains, draws=draws, tune=tune, progress=progress
        )
    except (RuntimeError, FloatingPointError, np.linalg.LinAlgError) as error:
        raise FitError(
            f"the sampler could not run: {str(error).splitlines()[0]}. If the scores are far "
            "from the declared scale, declare the scale they are on."
        ) from error


def _sums(layout: Layout) -> dict[str, str]:
    """Say of each sum that some evaluated model has why its terms can't be told apart."""
    found: dict[str, list[str]] = {}
    for cells, structure in zip(layout.cells, layout.structures, strict=True):
        for name, because in why_sums(cells, structure).items():
            found.setdefault(name, []).extend(because)
    return {name: "; ".join(dict.fromkeys(because)) for name, because in found.items()}


def _refuse(
    engine: str, chains: int, draws: int, tune: int, prior_scale: float, seed: int | None
) -> None:
    if engine not in ENGINES:
        raise FitError(f"there is no engine {engine!r}. Engines: {', '.join(ENGINES)}.")
    for name, value, least in (("chains", chains, 1), ("draws", draws, 4), ("tune", tune, 1)):
        if value != int(value) or value < least:
            raise FitError(f"{name} = {value!r} must be a whole number of at least {least}.")
    if not 0 < prior_scale < np.inf:
        raise FitError(f"prior_scale = {prior_scale!r} must be above 0: 2 doubles all priors.")
    if seed is not None and not 0 <= seed < 2**32:
        raise FitError(f"seed = {seed!r} must lie between 0 and 4294967295.")
