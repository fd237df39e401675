"""The default engine: NUTS on the marginal likelihood, by nutpie through PyMC."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import numpy as np
import nutpie
import pymc as pm

from bayesjudge.engines.draws import Draws, Sampling
from bayesjudge.engines.nutpie_draws import nutpie_draws
from bayesjudge.layout import Layout
from bayesjudge.models import build, families, to_sigma

# Higher than the usual 0.8: a third more steps, and the odd divergence on large panels is gone.
TARGET_ACCEPT = 0.9

_KEPT = 8  # compiled models


def sample(layout: Layout, how: Sampling) -> Draws:
    """Sample the standard deviations of a linear layout.

    Parameters
    ----------
    layout : Layout
        From `bayesjudge.layout.lay_out`.
    how : Sampling
        Seed, chains and draws.

    Returns
    -------
    Draws
    """
    graph = Graph(layout)
    data = {variable.name: variable.get_value() for variable in graph.model.data_vars}
    tree = nutpie.sample(
        _compiled(graph).with_data(**data),
        draws=how.draws,
        tune=how.tune,
        chains=how.chains,
        cores=min(how.chains, os.cpu_count() or 1),
        # As `pymc.sample` seeds nutpie, so that both give the same draws.
        seed=int(np.random.default_rng(how.seed).spawn(1)[0].integers(2**30)),
        target_accept=TARGET_ACCEPT,
        progress_bar=how.progress,
    )
    sigma = np.empty((how.chains, how.draws, len(layout.slots)))
    for name, members in families(layout).items():
        sigma[..., members] = to_sigma(layout, name, tree["posterior"][name].to_numpy())
    return nutpie_draws(sigma, tree, how, TARGET_ACCEPT)


class Graph:
    """The PyMC model of a layout; equal to another if only the data in it differ.

    Parameters
    ----------
    layout : Layout
        What to model.
    """

    def __init__(self, layout: Layout) -> None:
        self.model: pm.Model = build(layout)
        # All that enters the model as a constant: see `bayesjudge.models`.
        self._constants = (
            tuple((slot.name, slot.model, slot.judge) for slot in layout.slots),
            tuple(
                (name, prior.dist, *prior.kwargs.items()) for name, prior in layout.priors.items()
            ),
            tuple(table is None for table in layout.strata),
            len(layout.judges),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self._constants == other._constants

    def __hash__(self) -> int:
        return hash(self._constants)


# A compiled model is a function of its graph alone: which tables were fitted before makes a fit
# quicker and no different.
@lru_cache(maxsize=_KEPT)
def _compiled(graph: Graph) -> Any:
    return nutpie.compile_pymc_model(graph.model)
