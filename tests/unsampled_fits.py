"""Fits in no time: trees as `bayesjudge.fit` makes them, of draws that no sampler had to find."""

import numpy as np
import xarray as xr

from bayesjudge.engines.conditional import panel_draws
from bayesjudge.engines.diagnostics import Diagnostics
from bayesjudge.engines.draws import Draws
from bayesjudge.engines.ordinal_panel import ordinal_panel
from bayesjudge.layout import lay_out
from bayesjudge.ordinal.layout import lay_out_ordinal
from bayesjudge.ordinal.parameters import places
from bayesjudge.specs import read_spec
from bayesjudge.tree.assemble import assemble
from bayesjudge.tree.gaussian import gaussian_contents
from bayesjudge.tree.ordinal import ordinal_contents

CHAINS = 2


def ordinal_fit(
    scores, model="ordinal", draws=20, spread=0.4, seed=1, bins=None, at=None, keep=False
):
    """An ordinal fit with draws around a point of its vector of parameters, or its mode.

    `at` is "mode" (draws are then normal, with the curvature there), or a function from `Places`
    to the vector; without, all standard deviations are at the median of their priors, and
    thresholds around zero. `keep` is for declared levels that never occur.
    """
    layout = lay_out_ordinal(scores, read_spec(model), bins=bins, keep_unused_levels=keep)
    where = places(layout)
    noise = np.random.default_rng(seed).standard_normal((CHAINS * draws, where.size))
    if at == "mode":
        from bayesjudge.ordinal.mode import units

        found = units(layout)
        vectors = found.centre + noise @ found.root.T
    else:
        centre = np.zeros(where.size) if at is None else at(where)
        vectors = centre + spread * noise
    contents = ordinal_contents(
        layout, scores, _draws(vectors, draws), ordinal_panel(layout, vectors)
    )
    return _tree(contents, scores, model, _draws(vectors, draws))


def linear_fit(scores, sigma, model="linear", draws=20, spread=0.0, seed=1):
    """A linear fit with standard deviations given, by name or all the same; the rest is drawn."""
    layout = lay_out(scores, read_spec(model))
    rng = np.random.default_rng(seed)
    named = sigma if isinstance(sigma, dict) else dict.fromkeys(layout.names, sigma)
    values = np.array([named[slot.name] for slot in layout.slots])
    values = values * np.exp(spread * rng.standard_normal((CHAINS * draws, len(values))))
    sampled = _draws(values, draws)
    contents = gaussian_contents(layout, scores, sampled, panel_draws(layout, values, rng))
    return _tree(contents, scores, model, sampled)


def _draws(values, draws):
    values = values.reshape(CHAINS, draws, -1)
    stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros(values.shape[:2], dtype=bool))})
    return Draws(values, stats, {"sampler": "none"})


def _tree(contents, scores, model, sampled):
    verdict = Diagnostics(1.0, 400.0, 400.0, 0, 1.0, ())
    return assemble(
        contents, scores, read_spec(model), sampled, verdict, seed=0, prior_scale=1.0, warnings=()
    )
