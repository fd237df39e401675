r"""How much of each variance component a campaign's score has, by strategy.

The score of a campaign is the mean of its calls. Its variance around the panel mean is a sum over
components, each times a coefficient that depends on the design alone. With n scenarios, B calls for
each, a panel of K, and the components scenario (a), generation (b), judge (g), scenario:judge (h),
generation:judge (z) and residual (e), all relative to the panel:

======== ==========================================================================================
all      (K b + e)/(nB)
random   (b + g + h + z + e)/(nB)
cyclic   (b + z + e)/(nB) + h r(K-r)/((K-1) n B²) + g t(K-t)/((K-1)(nB)²), r = B mod K,
         t = nB mod K; restarted at each scenario the last is g r(K-r)/((K-1) B²).
         With k judges in turn on each answer k b and z (K-k)/(K-1) for b and z
subset   of k: [g/k + h/(nk) + z/(nB)] (K-k)/(K-1) + k b/(nB) + e/(nB)
======== ==========================================================================================

The panel is shuffled, so that which judges come once more than others is drawn at random; a subset
is drawn once. With h = z = 0 and B a multiple of K, *all*, *random* and *cyclic* are Eqs. 2 to 5 of
arXiv 2603.01865.
"""

from __future__ import annotations

from bayesjudge.allocations.strategies import Strategy

TARGETS = ("benchmark", "population")


def coefficients(
    strategy: Strategy,
    budget: int,
    n_scenarios: int,
    panel_size: int,
    target: str = "benchmark",
    dataset_size: float = float("inf"),
) -> dict[str, float]:
    """Return the coefficient of each component.

    Parameters
    ----------
    strategy : Strategy
        From `bayesjudge.allocations.strategies.parse_strategy`; one that reaches the budget.
    budget : int
        Judge calls for each scenario.
    n_scenarios, panel_size : int
        Scenarios that are scored, and judges in the panel, at least 2.
    target : {"benchmark", "population"}
        Whether the score is meant for these scenarios, or for scenarios like them.
    dataset_size : float
        Scenarios there are, for the finite population correction.

    Returns
    -------
    dict
        By name of the component.
    """
    n, B, K, k = n_scenarios, budget, panel_size, strategy.judges
    calls = n * B
    sampled = 1.0 / n - 1.0 / dataset_size if target == "population" else 0.0
    judge, by_scenario, by_generation = 0.0, 0.0, 0.0
    if strategy.kind == "random":
        judge = by_scenario = by_generation = 1.0 / calls
    elif strategy.kind == "subset":
        left_out = (K - k) / (K - 1)
        judge, by_scenario, by_generation = left_out / k, left_out / (n * k), left_out / calls
    elif strategy.kind in ("cyclic", "cyclic-restart"):
        in_scenario = _uneven(B, K)
        by_scenario, by_generation = in_scenario / n, (K - k) / (K - 1) / calls
        judge = _uneven(calls, K) if strategy.kind == "cyclic" else in_scenario
    return {
        "scenario": sampled,
        "generation": k / calls,
        "judge": judge,
        "scenario:judge": by_scenario,
        "generation:judge": by_generation,
        "residual": 1.0 / calls,
    }


def _uneven(calls: int, K: int) -> float:
    """Return what equal shares of calls, to within one, leave of a judge component."""
    rest = calls % K
    return rest * (K - rest) / ((K - 1) * calls**2)
