"""Bayesian variance components for panels of LLM judges.

Names are loaded when first used, so that ``import bayesjudge`` and ``bayesjudge --help`` are
quick: PyMC alone takes seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bayesjudge.allocations.contrasts import all_or_random, generation_sign, savings
    from bayesjudge.allocations.dataset import allocation
    from bayesjudge.allocations.executed import assignment_variance
    from bayesjudge.allocations.pool import finite_pool
    from bayesjudge.allocations.reliability import reliability
    from bayesjudge.allocations.simulated import future_scores
    from bayesjudge.allocations.summary import (
        allocation_table,
        reliability_table,
        tradeoff_table,
    )
    from bayesjudge.allocations.tradeoffs import scenarios_or_calls
    from bayesjudge.allocations.variance import strategy_variance
    from bayesjudge.design.check import check
    from bayesjudge.errors import BayesJudgeError, DesignError, FitError, ScoreError, SpecError
    from bayesjudge.estimates.anova import anova, judge_f_test, judge_means, mean_squares
    from bayesjudge.estimates.reml import reml
    from bayesjudge.examples import load as example
    from bayesjudge.fitting import fit
    from bayesjudge.many.fits import fit_many, groups
    from bayesjudge.planning.plans import cost_frontier, plan
    from bayesjudge.posterior.comparison import compare
    from bayesjudge.posterior.components import components
    from bayesjudge.posterior.effects import effects
    from bayesjudge.posterior.loo import loo
    from bayesjudge.posterior.predictive import level_frequencies
    from bayesjudge.posterior.summaries import judge_offsets, panel_means
    from bayesjudge.readers import read_scores
    from bayesjudge.schedules.assignments import assign
    from bayesjudge.schedules.audits import audit
    from bayesjudge.schedules.storage import write_schedule
    from bayesjudge.scores import ScoreTable
    from bayesjudge.tree import load, problems, save

_HOMES = {
    "all_or_random": "allocations.contrasts",
    "allocation": "allocations.dataset",
    "allocation_table": "allocations.summary",
    "anova": "estimates.anova",
    "assign": "schedules.assignments",
    "audit": "schedules.audits",
    "assignment_variance": "allocations.executed",
    "BayesJudgeError": "errors",
    "check": "design.check",
    "compare": "posterior.comparison",
    "components": "posterior.components",
    "cost_frontier": "planning.plans",
    "DesignError": "errors",
    "effects": "posterior.effects",
    "example": "examples",
    "finite_pool": "allocations.pool",
    "fit": "fitting",
    "FitError": "errors",
    "fit_many": "many.fits",
    "future_scores": "allocations.simulated",
    "generation_sign": "allocations.contrasts",
    "groups": "many.fits",
    "judge_f_test": "estimates.anova",
    "judge_means": "estimates.anova",
    "judge_offsets": "posterior.summaries",
    "level_frequencies": "posterior.predictive",
    "load": "tree",
    "loo": "posterior.loo",
    "mean_squares": "estimates.anova",
    "panel_means": "posterior.summaries",
    "plan": "planning.plans",
    "problems": "tree",
    "read_scores": "readers",
    "reliability": "allocations.reliability",
    "reliability_table": "allocations.summary",
    "reml": "estimates.reml",
    "save": "tree",
    "savings": "allocations.contrasts",
    "scenarios_or_calls": "allocations.tradeoffs",
    "ScoreError": "errors",
    "ScoreTable": "scores",
    "SpecError": "errors",
    "strategy_variance": "allocations.variance",
    "tradeoff_table": "allocations.summary",
    "write_schedule": "schedules.storage",
}

__all__ = [
    "BayesJudgeError",
    "DesignError",
    "FitError",
    "ScoreError",
    "ScoreTable",
    "SpecError",
    "__version__",
    "all_or_random",
    "allocation",
    "allocation_table",
    "anova",
    "assign",
    "assignment_variance",
    "audit",
    "check",
    "compare",
    "components",
    "cost_frontier",
    "effects",
    "example",
    "finite_pool",
    "fit",
    "fit_many",
    "future_scores",
    "generation_sign",
    "groups",
    "judge_f_test",
    "judge_means",
    "judge_offsets",
    "level_frequencies",
    "load",
    "loo",
    "mean_squares",
    "panel_means",
    "plan",
    "problems",
    "read_scores",
    "reliability",
    "reliability_table",
    "reml",
    "save",
    "savings",
    "scenarios_or_calls",
    "strategy_variance",
    "tradeoff_table",
    "write_schedule",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = import_module(f"bayesjudge.{_HOMES[name]}")
        return getattr(home, "load" if name == "example" else name)
    raise AttributeError(f"module 'bayesjudge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
