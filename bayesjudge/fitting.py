"""Run an engine on a table and put everything that follows from its draws into one tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayesjudge.arguments import require_whole
from bayesjudge.design.check import check
from bayesjudge.engines import psis
from bayesjudge.engines.conditional import panel_draws
from bayesjudge.engines.cross_check import cross_check
from bayesjudge.engines.diagnostics import Diagnostics, diagnose, diagnose_importance
from bayesjudge.engines.draws import Draws, Sampling
from bayesjudge.errors import FitError
from bayesjudge.layout import Layout, lay_out
from bayesjudge.scores import ScoreTable, require_table
from bayesjudge.settings import LATTICE_ERROR_MAX
from bayesjudge.specs import read_spec
from bayesjudge.tree.assemble import assemble
from bayesjudge.tree.contents import Contents
from bayesjudge.tree.gaussian import gaussian_contents

if TYPE_CHECKING:
    from bayesjudge.ordinal.layout import OrdinalLayout

ENGINES = ("nuts", "psis")
TUNE = {"gaussian": 500, "cumulative": 200}  # warm-up draws of each chain


def fit(
    scores: ScoreTable,
    model: str | Path = "linear",
    engine: str = "nuts",
    *,
    seed: int | None = None,
    chains: int = 4,
    draws: int = 1000,
    tune: int | None = None,
    prior_scale: float = 1.0,
    bins: int | None = None,
    keep_unused_levels: bool = False,
    progress: bool = False,
    on_stage: Callable[[str], None] | None = None,
) -> xr.DataTree:
    """Fit a model to a score table.

    Parameters
    ----------
    scores : ScoreTable
        From `bayesjudge.read_scores` or `bayesjudge.example`.
    model : str or Path
        A shipped specification ("linear", "linear-paper", "linear-judge-residual", "ordinal",
        "ordinal_probit", "ordinal_judge_scale") or the path of a TOML file.
    engine : {"nuts", "psis"}
        NUTS; or, for linear models, Pareto-smoothed importance sampling, which takes a second and
        hands over to NUTS where it can't be trusted (``attrs["engine"]`` and the notes say so).
    seed : int, optional
        The same seed gives the same numbers on the same machine. Without one, a seed is drawn
        and recorded.
    chains, draws, tune : int
        Chains, and kept and warm-up draws in each (psis: so many draws in all). Without `tune`,
        500; 200 for an ordinal model, which is sampled in units of its posterior's curvature.
    prior_scale : float
        Multiplies the priors of all standard deviations, to see what depends on them: 2 for
        twice as wide, 0.5 for half.
    bins : int, optional
        For an ordinal model of scores that are not levels: cut the scale into this many levels of
        equal width. It is noted in the fit.
    keep_unused_levels : bool
        For an ordinal model: whether declared levels that never occur have a probability all the
        same, from the prior. On small tables panel means and variances then lean on it.
    progress : bool
        Whether to show the sampler's progress bar.
    on_stage : callable, optional
        Called with a short text when each stage of the work begins.

    Returns
    -------
    DataTree
        In ArviZ's layout: ``posterior`` (``mu``, ``gamma`` and ``sigma_*``; of an ordinal model
        ``mu``, ``gamma`` and ``variance`` on the score scale, ``threshold`` and ``latent_*`` on
        that of the link), ``sample_stats``, ``log_likelihood`` (by scenario, effects integrated
        out), ``log_prior``, ``observed_data`` (the calls, up to a million), ``constant_data``
        (sufficient statistics), and attributes that record model, engine, seed, versions,
        diagnostics, the warnings of the table's audit, and why some components are known only as
        sums.

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
    spec = read_spec(model)
    warm_up = TUNE[spec.family] if tune is None else tune
    require_settings(engine, spec.family, chains, draws, warm_up, prior_scale, seed)
    say = on_stage or (lambda stage: None)
    if bins is not None and spec.family != "cumulative":
        raise FitError(
            f"bins = {bins!r} makes levels for an ordinal model; {spec.name} needs none: leave it "
            'out (--bins), or use model="ordinal" (--model ordinal).'
        )
    if not isinstance(keep_unused_levels, bool):
        raise FitError(f"keep_unused_levels = {keep_unused_levels!r} must be True or False.")
    if keep_unused_levels and spec.family != "cumulative":
        raise FitError(
            f"keep_unused_levels (--keep-unused-levels) is for an ordinal model; {spec.name} has "
            'no levels: leave it out, or use model="ordinal" (--model ordinal).'
        )
    say("auditing the table")
    design = check(scores)
    say("laying the model on the table")
    used = seed if seed is not None else int(np.random.SeedSequence().generate_state(1)[0])
    how = Sampling(used, chains, draws, warm_up, progress)
    if spec.family == "cumulative":
        # It brings Numba, which takes half a second to import.
        from bayesjudge.ordinal.layout import lay_out_ordinal

        levels = lay_out_ordinal(
            scores, spec, prior_scale, bins, keep_unused_levels=keep_unused_levels
        )
        contents, sampled, extra = _ordinal(levels, scores, how, say)
    else:
        contents, sampled, extra = _linear(
            lay_out(scores, spec, prior_scale), scores, how, say, engine
        )
    say("checking the fit")
    return assemble(
        contents,
        scores,
        spec,
        sampled,
        _diagnosed(contents, sampled, extra),
        seed=used,
        prior_scale=prior_scale,
        warnings=design.warnings,
    )


def _linear(
    layout: Layout, scores: ScoreTable, how: Sampling, say: Callable[[str], None], engine: str
) -> tuple[Contents, Draws, list[str]]:
    notes, found = [], []
    sampled = None
    if engine == "psis":
        say("importance sampling")
        tried = psis.sample(layout, how)
        if tried.trusted:
            sampled = tried.draws
        else:
            notes.append(f"Importance sampling handed over to NUTS: {tried.problem}.")
    attributes: dict[str, str | float] = {}
    if sampled is None:
        say("compiling and sampling")
        sampled = _sample(layout, how)
        say("cross-checking by importance sampling")
        checked = cross_check(layout, sampled, how)
        found = [checked.apart] if checked.apart else []
        attributes = {
            "psis_disagreement": checked.disagreement,
            "psis_disagreement_of": checked.where,
            "psis_problem": checked.problem,
        }
    say("drawing panel means and judge offsets")
    flat = sampled.values.reshape(how.chains * how.draws, -1)
    try:
        panel = panel_draws(layout, flat, np.random.default_rng(how.seed))
    except np.linalg.LinAlgError as error:
        raise FitError(
            "the draws reach standard deviations so small beside others that the conditional "
            "distributions can't be computed. Is a judge's score a function of the others?"
        ) from error
    contents = gaussian_contents(layout, scores, sampled, panel)
    return (
        replace(
            contents,
            notes=(*contents.notes, *notes),
            attributes={**contents.attributes, **attributes},
        ),
        sampled,
        found,
    )


def _diagnosed(contents: Contents, sampled: Draws, found: list[str]) -> Diagnostics:
    if sampled.settings["engine"] == "psis":
        effective = float(sampled.settings["importance_ess"])
        chains, draws = sampled.values.shape[:2]
        return diagnose_importance(effective, chains, draws, found)
    return diagnose(contents.groups["posterior"], sampled.stats, found)


def _ordinal(
    layout: OrdinalLayout, scores: ScoreTable, how: Sampling, say: Callable[[str], None]
) -> tuple[Contents, Draws, list[str]]:
    from bayesjudge.engines.ordinal_panel import ordinal_panel
    from bayesjudge.tree.ordinal import ordinal_contents

    say("compiling and sampling")
    sampled = _sample(layout, how)
    say("decomposing on the score scale")
    panel = ordinal_panel(layout, sampled.values.reshape(how.chains * how.draws, -1))
    found = []
    if not panel.lattice_error < LATTICE_ERROR_MAX:
        found.append(
            "The likelihood is not accurate enough: with twice as many nodes it differs by up to "
            f"{panel.lattice_error:.2g} (less than {LATTICE_ERROR_MAX:g} is wanted). Fit fewer "
            "generations a scenario or fewer judges at once, or model='linear'."
        )
    return ordinal_contents(layout, scores, sampled, panel), sampled, found


def _sample(layout: Layout | OrdinalLayout, how: Sampling) -> Draws:
    try:
        # PyMC takes seconds to import, and only the first of the two needs it.
        if isinstance(layout, Layout):
            from bayesjudge.engines import nuts

            return nuts.sample(layout, how)
        from bayesjudge.engines import nuts_ordinal

        return nuts_ordinal.sample_ordinal(layout, how)
    except (RuntimeError, FloatingPointError, np.linalg.LinAlgError) as error:
        raise FitError(
            f"the sampler could not run: {str(error).splitlines()[0]}. If the scores are far "
            "from the declared scale, declare the scale they are on."
        ) from error


def require_settings(
    engine: str,
    family: str,
    chains: int,
    draws: int,
    tune: int,
    prior_scale: float,
    seed: int | None,
) -> None:
    """Refuse settings of `fit` that no table could be fitted with.

    Raises
    ------
    FitError
        Saying which is out of range, or does not go with the family of the model.
    """
    if engine not in ENGINES:
        raise FitError(f"there is no engine {engine!r}. Engines: {', '.join(ENGINES)}.")
    if engine == "psis" and family == "cumulative":
        raise FitError(
            "engine='psis' is for linear models: with the thresholds of an ordinal one, too few "
            "draws carry all the weight (k-hat of 1 to 5 on common panels). Leave it out "
            "(--engine nuts)."
        )
    for name, value, least in (("chains", chains, 1), ("draws", draws, 4), ("tune", tune, 1)):
        require_whole(name, value, least, error=FitError)
    if not 0 < prior_scale < np.inf:
        raise FitError(f"prior_scale = {prior_scale!r} must be above 0: 2 doubles all priors.")
    if seed is not None and require_whole("seed", seed, 0, error=FitError) >= 2**32:
        raise FitError(f"seed = {seed!r} must lie between 0 and 4294967295.")
