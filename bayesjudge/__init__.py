"""Bayesian variance components for panels of LLM judges."""

__version__ = "0.1.0"
