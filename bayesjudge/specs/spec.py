"""What a model specification holds, once read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayesjudge.priors import Prior


@dataclass(frozen=True)
class Spec:
    """A model specification.

    Attributes
    ----------
    name, statement : str
        What it is called, and what it states in a paragraph.
    family : str
        Distribution of a score: "gaussian", or "cumulative" for levels in order.
    link : str
        The link to the linear predictor: "identity" if gaussian, else "logit" or "probit".
    terms : tuple of str
        The terms of the linear predictor, in the order of `bayesjudge.terms.TERMS`.
    residual : str
        "common", or "judge" for one residual sd a judge; "link" if cumulative, where the noise
        is that of the link.
    thresholds : str
        "common" to all judges, or "judge-scale" for thresholds that each judge spreads by a
        factor of its own; "none" if gaussian.
    unit : str
        Unit of the priors: "range" of the declared scale, or "score" points; "latent" if
        cumulative.
    mean : Prior
        If gaussian, the prior of the panel mean, in `unit`; with "range", from the scale's low
        end. If cumulative, the joint prior of the evaluated models' means, which sum to zero.
    sd : dict of Prior
        Prior of each term's standard deviation, in `unit`.
    threshold_prior : Prior or None
        Joint prior of the thresholds; None if gaussian.
    threshold_scale : Prior or None
        Joint prior of the judges' log factors, which sum to zero; None unless "judge-scale".
    references : tuple of str
        Where the model comes from.
    sha256 : str
        Hash of the file's bytes.
    path : str
        Where it was read from; a name for a shipped one.
    """

    name: str
    statement: str
    family: str
    link: str
    terms: tuple[str, ...]
    residual: str
    thresholds: str
    unit: str
    mean: Prior
    sd: Mapping[str, Prior]
    threshold_prior: Prior | None
    threshold_scale: Prior | None
    references: tuple[str, ...]
    sha256: str
    path: str
