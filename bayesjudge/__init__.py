"""Bayesian variance components for panels of LLM judges.

Names are loaded when first used, so that ``import bayesjudge`` and ``bayesjudge --help`` are
quick: PyMC alone takes seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bayesjudge.allocations.dataset import allocation
    from bayesjudge.allocations.variance import strategy_variance
    from bayesjudge.design.check import check
    from bayesjudge.errors import BayesJudgeError, DesignError, FitError, ScoreError, SpecError
    from bayesjudge.estimates.anova import anova, judge_f_test, judge_means, mean_squares
    from bayesjudge.estimates.reml import reml
    from bayesjudge.examples import load as example
    from bayesjudge.fitting import fit
    from bayesjudge.posterior.comparison import compare
    from bayesjudge.posterior.components import components
    from bayesjudge.posterior.effects import effects
    from bayesjudge.posterior.loo import loo
    from bayesjudge.posterior.predictive import level_frequencies
    from bayesjudge.posterior.summaries import judge_offsets, panel_means
    from bayesjudge.readers import read_scores
    from bayesjudge.scores import ScoreTable
    from bayesjudge.tree import load, problems, save

_HOMES = {
    "BayesJudgeError": "errors",
    "DesignError": "errors",
    "FitError": "errors",
    "ScoreError": "errors",
    "ScoreTable": "scores",
    "SpecError": "errors",
    "allocation": "allocations.dataset",
    "anova": "estimates.anova",
    "check": "design.check",
    "compare": "posterior.comparison",
    "components": "posterior.components",
    "effects": "posterior.effects",
    "example": "examples",
    "fit": "fitting",
    "judge_offsets": "posterior.summaries",
    "panel_means": "posterior.summaries",
    "judge_f_test": "estimates.anova",
    "judge_means": "estimates.anova",
    "level_frequencies": "posterior.predictive",
    "load": "tree",
    "loo": "posterior.loo",
    "mean_squares": "estimates.anova",
    "problems": "tree",
    "read_scores": "readers",
    "reml": "estimates.reml",
    "save": "tree",
    "strategy_variance": "allocations.variance",
}

__all__ = [
    "BayesJudgeError",
    "DesignError",
    "FitError",
    "ScoreError",
    "ScoreTable",
    "SpecError",
    "__version__",
    "allocation",
    "anova",
    "check",
    "compare",
    "components",
    "effects",
    "example",
    "fit",
    "judge_f_test",
    "judge_means",
    "judge_offsets",
    "level_frequencies",
    "load",
    "loo",
    "mean_squares",
    "panel_means",
    "problems",
    "read_scores",
    "reml",
    "save",
    "strategy_variance",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = import_module(f"bayesjudge.{_HOMES[name]}")
        return getattr(home, "load" if name == "example" else name)
    raise AttributeError(f"module 'bayesjudge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
