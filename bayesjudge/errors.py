"""The refusals of the package. Each says what was found, where, what is allowed and what to do."""

from __future__ import annotations


class BayesJudgeError(ValueError):
    """Base of every refusal: the command line prints its text and ends with status 1."""


class ScoreError(BayesJudgeError):
    """The score table can't be read without guessing."""


class DesignError(BayesJudgeError):
    """The table is readable, but its design can't carry what was asked of it."""


class SpecError(BayesJudgeError):
    """A model specification is not of the form that ``models/`` documents."""


class FitError(BayesJudgeError):
    """A fit could not be run, saved or loaded."""
