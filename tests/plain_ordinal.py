"""The cumulative-link model as its statement reads, apart from the package: every effect is latent.

Plain PyMC, for one evaluated model. What the package integrates out is sampled here.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy.special import gammaln, ndtri


def plain_model(
    level,
    scenario,
    generation,
    judge,
    n_levels,
    link="logit",
    sd_scale=2.0,
    total=2.0,
    judge_scale=False,
):
    """P(level <= c) = F(threshold_c - (alpha_i + beta_ij + gamma_l)), F logistic or normal.

    The first four are columns with a row for each score. Levels count from 0; the others are any
    labels, which the effects follow in sorted order (beta by pairs of scenario and generation).
    With `judge_scale` each judge stretches the thresholds around their mean.
    """
    level = np.asarray(level, dtype=int)
    answers, answer = np.unique(_answers(scenario, generation), axis=0, return_inverse=True)
    scenarios, scenario = np.unique(scenario, return_inverse=True)
    judges, judge = np.unique(judge, return_inverse=True)
    share = np.arange(1, n_levels) / n_levels
    with pm.Model() as model:
        sigma_scenario = pm.HalfNormal("sigma_scenario", sd_scale)
        sigma_generation = pm.HalfNormal("sigma_generation", sd_scale)
        sigma_judge = pm.HalfNormal("sigma_judge", sd_scale)
        threshold = pm.Flat(
            "threshold",
            shape=n_levels - 1,
            transform=pm.distributions.transforms.ordered,
            initval=np.log(share / (1 - share)) if link == "logit" else ndtri(share),
        )
        # Averaged over scenarios and generations, the levels' probabilities have the prior.
        noise = np.pi**2 / 3 if link == "logit" else 1.0
        unit = pt.sqrt(1 + (sigma_scenario**2 + sigma_generation**2) / noise)
        prior = induced_dirichlet(threshold / unit, n_levels, link, total / n_levels)
        pm.Potential("threshold_prior", prior - (n_levels - 1) * pt.log(unit))
        alpha = sigma_scenario * pm.Normal("alpha_unit", shape=len(scenarios))
        beta = sigma_generation * pm.Normal("beta_unit", shape=len(answers))
        pm.Deterministic("alpha", alpha)
        pm.Deterministic("beta", beta)
        gamma = pm.ZeroSumNormal("gamma", sigma=sigma_judge, shape=len(judges))
        by_judge = pt.tile(threshold, (len(judges), 1))
        if judge_scale:
            stretch = pt.exp(pm.ZeroSumNormal("lambda", sigma=0.5, shape=len(judges)))
            centre = threshold.mean()
            by_judge = centre + stretch[:, None] * (threshold - centre)
        eta = alpha[scenario] + beta[answer.ravel()] + gamma[judge]
        pm.Potential("score", log_likelihood(level, eta, by_judge, judge, n_levels, link))
    return model


def log_likelihood(level, eta, threshold, judge, n_levels, link):
    """Sum of the log probabilities of the levels; thresholds by judge."""
    lowest, highest = level == 0, level == n_levels - 1
    inner = ~lowest & ~highest
    # F is symmetric: 1 - F(x) = F(-x).
    below = log_cdf(threshold[judge[lowest], 0] - eta[lowest], link)
    above = log_cdf(eta[highest] - threshold[judge[highest], n_levels - 2], link)
    of_judge, own, at = judge[inner], level[inner], eta[inner]
    between = log_between(threshold[of_judge, own - 1] - at, threshold[of_judge, own] - at, link)
    return below.sum() + above.sum() + between.sum()


def induced_dirichlet(threshold, n_levels, link, concentration):
    """Log density of thresholds whose levels at zero effect have Dirichlet probabilities."""
    log_p = pt.concatenate(
        [
            log_cdf(threshold[:1], link),
            log_between(threshold[:-1], threshold[1:], link),
            log_cdf(-threshold[-1:], link),
        ]
    )
    constant = gammaln(n_levels * concentration) - n_levels * gammaln(concentration)
    dirichlet = constant + (concentration - 1) * log_p.sum()
    return dirichlet + log_pdf(threshold, link).sum()


def log_pdf(x, link):
    if link == "logit":
        return -pt.softplus(x) - pt.softplus(-x)
    return -(x**2) / 2 - np.log(2 * np.pi) / 2


def log_cdf(x, link):
    if link == "logit":
        return -pt.softplus(-x)
    # Each branch only sees values at which it and its gradient are finite.
    tail, body = pt.minimum(x, -1.0), pt.maximum(x, -1.0)
    return pt.where(
        x < -1.0,
        pt.log(pt.erfcx(-tail / np.sqrt(2)) / 2) - tail**2 / 2,
        pt.log1p(-pt.erfc(body / np.sqrt(2)) / 2),
    )


def log_between(low, high, link):
    """log(F(high) - F(low)) in log space: both tails stay finite."""
    if link == "logit":  # F(h) - F(l) = F(h) F(-l) (1 - exp(l - h))
        return log_cdf(high, link) + log_cdf(-low, link) + pt.log1mexp(low - high)
    # On the side where F is small.
    flip = low + high > 0
    low, high = pt.where(flip, -high, low), pt.where(flip, -low, high)
    upper = log_cdf(high, link)
    return upper + pt.log1mexp(log_cdf(low, link) - upper)


def _answers(scenario, generation):
    codes = [np.unique(labels, return_inverse=True)[1] for labels in (scenario, generation)]
    return np.stack(codes, axis=1)
