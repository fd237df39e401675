"""What the draws of an ordinal fit are to the likelihood, rebuilt from its tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells
from bayesjudge.errors import FitError
from bayesjudge.marginal.cumulative.tallies import Tallies, tallies
from bayesjudge.terms import carrier, parts
from bayesjudge.tree import require_fit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

EFFECTS = ("scenario", "generation")

_PREFIX = "latent_sigma_"
_TIE = 2e-9  # of the distance of two levels, as where scores are cut into bins


class OrdinalParameters(NamedTuple):
    """Parameters of an ordinal fit, draws of all chains one behind the other.

    Attributes
    ----------
    thresholds : float array, shape (draws, models, judges, levels - 1)
        Of each judge, less its offset and the model's mean (latent), ascending. A judge that did
        not score a model has no offset there.
    sigma : float array, shape (draws, models, 2)
        Standard deviations of scenario and generation (latent); zero where the model has no such
        effect.
    """

    thresholds: FloatArray
    sigma: FloatArray


def is_ordinal(tree: xr.DataTree) -> bool:
    """Say whether a fit is of the cumulative family (fits of old say nothing, and are not)."""
    return str(tree.attrs.get("family", "gaussian")) == "cumulative"


def require_ordinal(tree: xr.DataTree) -> None:
    """Refuse what is not a fit of an ordinal model.

    Raises
    ------
    FitError
        Saying what it is.
    """
    require_fit(tree)
    if not is_ordinal(tree):
        raise FitError(
            f"this needs a fit of an ordinal model, and model={tree.attrs['model']!r} is not one: "
            "fit with model='ordinal' (--model ordinal)."
        )


def parameters_of(tree: xr.DataTree) -> OrdinalParameters:
    """Rebuild the parameters that `bayesjudge.marginal.cumulative` works with.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`, of an ordinal model.

    Raises
    ------
    FitError
        When it is no fit, or not of an ordinal model.
    """
    require_ordinal(tree)
    posterior = tree["posterior"].to_dataset()
    T, K = posterior.sizes["model"], posterior.sizes["judge"]
    threshold = _flat(posterior["threshold"], "cut")
    draws = len(threshold)
    shift = np.nan_to_num(_flat(posterior["latent_gamma"], "model", "judge"))
    if "latent_mu" in posterior:
        shift = shift + _flat(posterior["latent_mu"], "model")[:, :, None]
    own = np.broadcast_to(threshold[:, None, :], (draws, K, threshold.shape[1]))
    if "latent_scale" in posterior:
        centre = threshold.mean(axis=1)[:, None, None]
        own = centre + _flat(posterior["latent_scale"], "judge")[..., None] * (own - centre)
    sigma = np.zeros((draws, T, len(EFFECTS)))
    for k, names in enumerate(effect_names(tree).values()):
        for name in names:
            sigma[..., k] += np.nan_to_num(_flat(posterior[_PREFIX + name], "model"))
    return OrdinalParameters(own[:, None] - shift[..., None], sigma)


def effect_names(tree: xr.DataTree) -> dict[str, list[str]]:
    """Name the latent components and sums that stand at each effect of the likelihood.

    Several where evaluated models differ in what their data can tell apart, none where the
    effect is in the noise of the link.

    Returns
    -------
    dict of list of str
        For "scenario" and "generation".
    """
    found: dict[str, list[str]] = {effect: [] for effect in EFFECTS}
    for variable in tree["posterior"].data_vars:
        name = str(variable).removeprefix(_PREFIX)
        if name != variable and carrier(parts(name)) in found:
            found[carrier(parts(name))].append(name)
    return found


def level_codes(tree: xr.DataTree, score: FloatArray) -> IntArray:
    """Give the position of each score of an ordinal fit among its levels.

    Parameters
    ----------
    tree : DataTree
        The fit.
    score : float array
        Scores of its table, all of them, in any order.

    Raises
    ------
    FitError
        When the levels are not those of these scores.
    """
    levels = tree["constant_data"]["level"].to_numpy()
    # Cut into bins, a score is nearest to the midpoint of its own; on an edge it's in the upper.
    upper = np.clip(np.searchsorted(levels, score), 1, len(levels) - 1)
    low, high = levels[upper - 1], levels[upper]
    below = (score - low) - (high - score) < -_TIE * (high - low)
    codes: IntArray = (upper - below).astype(np.int64)
    counts = np.bincount(codes, minlength=len(levels))
    if not np.array_equal(counts, tree["constant_data"]["level_count"].to_numpy()):
        raise FitError("the scores that this fit holds do not have the levels that it was made of")
    return codes


def codes_by_table(tables: Sequence[Cells], tree: xr.DataTree) -> list[IntArray]:
    """Give the level of each call of each evaluated model.

    Parameters
    ----------
    tables : sequence of Cells
        The calls of each evaluated model.
    tree : DataTree
        An ordinal fit of them.
    """
    codes = level_codes(tree, np.concatenate([cells.score for cells in tables]))
    return split_by_table(tables, codes)


def split_by_table(tables: Sequence[Cells], values: IntArray) -> list[IntArray]:
    """Cut what is known of each call into what is known of each evaluated model's."""
    return np.split(values, np.cumsum([len(cells.score) for cells in tables])[:-1])


def tallies_of(tables: tuple[Cells, ...], tree: xr.DataTree) -> Tallies:
    """Tally the levels of an ordinal fit's scores again, as when it was made.

    Parameters
    ----------
    tables : tuple of Cells
        The calls of each evaluated model.
    tree : DataTree
        The fit.
    """
    return tallies(list(zip(tables, codes_by_table(tables, tree), strict=True)))


def _flat(array: xr.DataArray, *dims: str) -> FloatArray:
    """Put chains one behind the other, and the other dims in this order."""
    values = array.transpose("chain", "draw", *dims).to_numpy()
    return np.asarray(values.reshape(-1, *values.shape[2:]), dtype=np.float64)
