"""What the draws of a linear fit are to the likelihood, rebuilt from its tree."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells
from bayesjudge.marginal import gaussian
from bayesjudge.marginal.gaussian import Variances
from bayesjudge.terms import TERMS, carrier, parts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class LinearParameters(NamedTuple):
    """Parameters of one evaluated model of a linear fit, chains one behind the other.

    Attributes
    ----------
    judge_means : float array, shape (draws, judges of the model)
        Mean of the model plus judge offset (score).
    variances : Variances
        Of each draw; zero where the model has no such effect. A sum stands at the place of its
        carrier (`bayesjudge.terms.carrier`).
    """

    judge_means: FloatArray
    variances: Variances

    def at(self, chosen: IntArray) -> LinearParameters:
        """Keep some draws."""
        v = self.variances
        taken = (np.ascontiguousarray(getattr(v, field.name)[chosen]) for field in fields(v))
        return LinearParameters(np.ascontiguousarray(self.judge_means[chosen]), Variances(*taken))


def linear_parameters(tree: xr.DataTree, cells: Cells) -> LinearParameters:
    """Rebuild the parameters that `bayesjudge.marginal.gaussian` works with.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`, of a linear model.
    cells : Cells
        The evaluated model, with all its judges.
    """
    own = tree["posterior"].to_dataset().isel(model=cells.model)
    gamma = own["gamma"].fillna(0.0).isel(judge=cells.judge_ids)
    means = (own["mu"] + gamma).transpose("chain", "draw", "judge").to_numpy()
    draws = means.shape[0] * means.shape[1]
    placed: dict[str, FloatArray] = {term: np.zeros((draws, 1)) for term in TERMS}
    for array in own.data_vars.values():
        if "component" in array.attrs:
            sigma = array.transpose("chain", "draw", ...).to_numpy().reshape(draws, -1)
            if sigma.shape[1] > 1:  # residuals by judge
                sigma = sigma[:, cells.judge_ids]
            term = carrier(parts(str(array.attrs["component"])))
            # Several where evaluated models differ in what their data can tell apart.
            placed[term] = placed[term] + np.nan_to_num(sigma) ** 2
    *fixed, residual = (placed[term] for term in TERMS)
    return LinearParameters(
        np.asarray(means.reshape(draws, -1)),
        gaussian.by_term(
            np.concatenate(fixed, axis=1),
            np.broadcast_to(residual, (draws, cells.n_judges)).copy(),
        ),
    )
