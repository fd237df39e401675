"""What a campaign's design may be: refusals that its parts share."""

from __future__ import annotations

from typing import Any

from bayesjudge.allocations.coefficients import TARGETS
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError
from bayesjudge.wording import did_you_mean


def require_panel(panel_size: Any) -> int:
    """Return the number of judges, or refuse what is no panel."""
    return require_whole(
        "panel_size", panel_size, 2, ": with one judge every way to spend calls is the same"
    )


def require_target(target: str) -> str:
    """Return the target, or refuse it."""
    if target not in TARGETS:
        raise BayesJudgeError(
            f"target = {target!r} must be 'benchmark' (the panel mean over these scenarios) or "
            f"'population' (scenarios like these).{did_you_mean(str(target), TARGETS)}"
        )
    return target


def require_dataset_size(dataset_size: Any, n_scenarios: int, target: str) -> float:
    """Return how many scenarios there are, or refuse it; infinite unless given."""
    if dataset_size is None:
        return float("inf")
    if target == "benchmark":
        raise BayesJudgeError(
            f"dataset_size = {dataset_size!r} is for target='population': of a benchmark, the "
            "scenarios that are scored are all there are."
        )
    if dataset_size == float("inf"):
        return float("inf")
    return float(
        require_whole(
            "dataset_size", dataset_size, n_scenarios, f", the {n_scenarios} scenarios scored"
        )
    )
