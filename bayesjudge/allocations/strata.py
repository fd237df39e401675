r"""Judges with prices of their own: as many calls of each as its price and its noise are worth.

A score that weighs every judge by 1/K, whatever the number :math:`n_l` of its calls, is free of the
judges' main effects. Where each call is of an answer of its own, its variance is close to

.. math:: \frac{1}{K^2} \sum_l \frac{u_l}{n_l}, \qquad u_l = b + z + e_l,

plus scenario and scenario:judge in :math:`u_l` where a judge sees only some of the scenarios. At a
given cost it is least for :math:`n_l \propto \sqrt{u_l / (\text{call}_l + \text{generation})}`
(Neyman's allocation of a stratified sample). What a plan is judged by is the exact variance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayesjudge.allocations.assignment import AssignmentCoefficients, assignment_coefficients
from bayesjudge.allocations.grid import Campaign
from bayesjudge.allocations.sources import Source
from bayesjudge.terms import parts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_SEEN = ("scenario", "scenario:judge")  # cancel where every judge sees every scenario


def unit_variances(source: Source, *, sees_all: bool) -> FloatArray:
    """Return the variance that one call of each judge stands for, averaged over models and draws.

    Parameters
    ----------
    source : Source
        The components; all models have the same panel.
    sees_all : bool
        Whether every judge sees every scenario.

    Returns
    -------
    float array, shape (judges,)
        Score².
    """
    found = np.zeros(source.models[0].panel_size)
    for one in source.models:
        for name, variance in one.variances.items():
            terms = set(parts(name))
            if "judge" not in terms and not (sees_all and terms <= set(_SEEN)):
                found += variance.mean()
        if one.own_residuals is not None:
            own = one.own_residuals.mean(axis=(0, 1))
            found += own - own.mean()
    return found / len(source.models)


def quotas(shares: Sequence[float] | FloatArray, calls: int) -> tuple[int, ...]:
    """Share out calls by largest remainders, at least one for each judge.

    Parameters
    ----------
    shares : float array, shape (judges,)
        Positive.
    calls : int
        At least as many as judges.
    """
    share = np.asarray(shares, dtype=float)
    free = calls - len(share)
    exact = share / share.sum() * calls
    above = np.maximum(exact - 1, 0.0)
    above *= free / above.sum() if above.sum() > 0 else 0.0
    whole = np.floor(above).astype(int)
    rest = np.argsort(-(above - whole), kind="stable")[: free - whole.sum()]
    whole[rest] += 1
    return tuple(int(k) + 1 for k in whole)


def in_turn(calls_by_judge: Sequence[int]) -> IntArray:
    """Put the calls in an order in which each judge comes at even distances.

    Where all calls are whole rounds, every round has each judge as often.

    Parameters
    ----------
    calls_by_judge : sequence of int
        Calls of each judge.

    Returns
    -------
    int array, shape (calls,)
        Judges.
    """
    judge = np.repeat(np.arange(len(calls_by_judge)), calls_by_judge)
    place = np.concatenate([(np.arange(n) + 0.5) / n for n in calls_by_judge])
    found: IntArray = judge[np.argsort(place, kind="stable")]
    return found


def stratified_coefficients(
    calls_by_judge: Sequence[int], budget: int, campaign: Campaign
) -> AssignmentCoefficients:
    """Weigh components where each judge has its number of calls, and weighs 1/K.

    The calls go to scenarios in turn, each to an answer of its own.

    Parameters
    ----------
    calls_by_judge : sequence of int
        They sum to scenarios times budget.
    budget : int
        Calls for each scenario.
    campaign : Campaign
        Scenarios, and what the score is meant for.
    """
    judge = in_turn(calls_by_judge)
    call = np.arange(len(judge))
    K = len(calls_by_judge)
    finite = campaign.target == "population" and np.isfinite(campaign.dataset_size)
    return assignment_coefficients(
        call // budget,
        call % budget,
        judge,
        panel_size=K,
        weight=1 / (K * np.asarray(calls_by_judge, dtype=float)[judge]),
        target=campaign.target,
        dataset_size=int(campaign.dataset_size) if finite else None,
    )
