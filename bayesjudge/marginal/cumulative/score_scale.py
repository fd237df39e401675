r"""From thresholds to scores: means, judge offsets and variance components of an ordinal model.

A total effect is :math:`t = a + b`, scenario and generation, with sd :math:`s` and the share
:math:`\rho = \sigma_a^2/s^2` of its variance from the scenario. Two generations of one scenario
have total effects that correlate by :math:`\rho`, so with the Hermite coefficients
:math:`f_n = E[f(sz)\, h_n(z)]`, z standard normal, of any function of the total effect, Mehler's
formula gives

.. math:: \mathrm{Var}_a E_b f = \sum_{n \ge 1} \rho^n f_n^2, \qquad
          E_a \mathrm{Var}_b f = \sum_{n \ge 1} (1 - \rho^n) f_n^2.

Every term is positive, nothing cancels when one of the two effects is tiny, and one rule over t
serves both. The rule is Gauss-Hermite: of order N it keeps :math:`h_0 \dots h_{N-1}` orthonormal,
so the parts sum to the variance exactly. An expected score is a smooth staircase in t, with steps
as wide as the link; the nodes have to resolve them, which takes N in proportion to s².
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesjudge.marginal.compiling import compiled

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# An order of 16 + s² times this leaves an error of 1e-8 of the total variance.
ORDER_PER_VARIANCE = {"logit": 12.0, "probit": 16.0}
ORDERS = np.array(sorted(base << k for base in (16, 24) for k in range(9) if base << k <= 4096))
REACH = 8.5  # nodes farther out, in standard deviations, weigh 2e-17 together
UNDECIDED = 1e-12  # of the total variance, at which the sum over n may stop
BLOCK = 256  # draws that a thread takes at a time


@dataclass(frozen=True, eq=False)
class ScoreScale:
    """What an ordinal model says on the scale of the scores, draw by draw.

    Attributes
    ----------
    mu : float array, shape (draws,)
        Panel mean (score).
    gamma : float array, shape (draws, judges)
        Judge offsets from it (score). They sum to zero.
    variance : float array, shape (draws, 6)
        Variance components in the order of `bayesjudge.terms.TERMS` (score²).
    """

    mu: FloatArray
    gamma: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class _Rule:
    """The positive half of a Gauss-Hermite rule; `basis` is weight times h_n, n >= 1."""

    nodes: FloatArray  # (nodes,)
    weights: FloatArray  # (nodes,): of a node, and of its mirror image
    basis: FloatArray  # (order - 1, nodes)


def score_scale(
    thresholds: FloatArray,
    sigma_scenario: FloatArray,
    sigma_generation: FloatArray,
    values: FloatArray,
    link: str,
) -> ScoreScale:
    r"""Panel mean, judge offsets and the six variance components of the score.

    With :math:`u_l(t)` and :math:`v_l(t)` the mean and variance of the score of judge l given the
    total effect, and :math:`\bar u` the mean over judges: scenario and generation are the parts
    :math:`\mathrm{Var}_a E_b` and :math:`E_a \mathrm{Var}_b` of :math:`\bar u`, scenario:judge
    and generation:judge the same parts of :math:`u_l - \bar u` averaged over judges, judge is
    :math:`K^{-1} \sum_l \gamma_l^2` and residual the mean of :math:`v_l`. The six sum to the
    variance of the score of a random cell.

    Parameters
    ----------
    thresholds : float array, shape (draws, judges, levels - 1)
        kappa in P(level <= c | t) = F(kappa - t), increasing, with the judge's offset and the
        mean of the evaluated model in them (latent).
    sigma_scenario, sigma_generation : float array, shape (draws,)
        Standard deviations of the two parts of the total effect (latent). Zero is allowed.
    values : float array, shape (levels,)
        Scores of the levels, increasing.
    link : {"logit", "probit"}
        F is logistic or normal.

    Returns
    -------
    ScoreScale
        NaN where an input is. With one judge, the terms that need several are exactly 0.

    Raises
    ------
    ValueError
        When the link or a shape is none of these.

    Notes
    -----
    The error of a component is below 1e-8 of the total variance while s is at most 16 (latent),
    and 1e-6 at s = 20. The order of the rule ends there, and the error grows: 2e-4 at s = 30 and
    a few thousandths at s = 50, where a link of unit width is next to a jump.

    References
    ----------
    Mehler (1866), Crelle 66, 161-176, for the formula in the module's docstring.
    """
    kappa, sigmas = _checked(thresholds, sigma_scenario, sigma_generation, link)
    values = np.ascontiguousarray(values, dtype=float)
    if len(values) != kappa.shape[2] + 1:
        raise ValueError(f"{kappa.shape[2]} thresholds need {kappa.shape[2] + 1} values.")
    s = np.hypot(*sigmas)
    share, rest = np.square(np.divide(sigmas, s, out=np.zeros_like(sigmas), where=s > 0))
    steps = np.diff(values)
    loss = np.empty(kappa.shape[:2])
    variance = np.empty((len(s), 6))

    def work(rule: _Rule, rows: IntArray) -> None:
        _components(
            *(rule.nodes, rule.weights, rule.basis, rows, kappa, s, share, rest, steps),
            *(link == "logit", loss, variance),
        )

    _in_threads(work, s, link)
    mean = loss.mean(axis=1)
    gamma = mean[:, None] - loss
    variance[:, 2] = np.square(gamma).mean(axis=1)
    return ScoreScale(values[-1] - mean, gamma, variance)


def level_probabilities(
    thresholds: FloatArray, sigma_scenario: FloatArray, sigma_generation: FloatArray, link: str
) -> FloatArray:
    """Probability of each level by judge, over scenarios and generations.

    Parameters
    ----------
    thresholds, sigma_scenario, sigma_generation, link
        As for `score_scale`.

    Returns
    -------
    float array, shape (draws, judges, levels)
        They sum to one over levels. Exact for the probit; for the logit as accurate as
        `score_scale`.

    Raises
    ------
    ValueError
        When the link or a shape is not as for `score_scale`.
    """
    kappa, sigmas = _checked(thresholds, sigma_scenario, sigma_generation, link)
    s = np.hypot(*sigmas)
    edges = np.zeros((*kappa.shape[:2], kappa.shape[2] + 2))
    edges[..., -1] = 1.0
    if link == "probit":  # a normal variable plus a normal variable
        edges[..., 1:-1] = special.ndtr(kappa / np.hypot(1.0, s)[:, None, None])
    else:

        def work(rule: _Rule, rows: IntArray) -> None:
            _below(rule.nodes, rule.weights, rows, kappa, s, True, edges)

        _in_threads(work, s, link)
    return np.maximum(np.diff(edges, axis=-1), 0.0)  # rounding may leave an empty level at -1e-17


@compiled
def _place(s, nodes, t, growth):  # type: ignore[no-untyped-def]
    """Write the total effects at the nodes and at their mirror images, and exp of them."""
    H = len(nodes)
    for k in range(H):
        t[k], t[H + k] = s * nodes[k], -s * nodes[k]
    for k in range(2 * H):
        growth[k] = math.exp(t[k])


@compiled
def _cumulative(cut, t, growth, logit, out):  # type: ignore[no-untyped-def]
    """Write F(cut - t) at all nodes."""
    if not logit:
        for k in range(len(t)):
            x = (t[k] - cut) * math.sqrt(0.5)
            if abs(x) > 6.5:  # less than 1e-19 from a level that is certain
                out[k] = 1.0 if x < 0.0 else 0.0
            else:
                out[k] = 0.5 * math.erfc(x)
    elif max(abs(cut), np.max(np.abs(t))) < 350.0:
        decay = math.exp(-cut)
        for k in range(len(t)):
            out[k] = 1.0 / (1.0 + decay * growth[k])
    else:
        for k in range(len(t)):
            out[k] = 1.0 / (1.0 + math.exp(t[k] - cut))


@compiled
def _components(  # type: ignore[no-untyped-def]
    nodes, weights, basis, rows, kappa, s, share, rest, steps, logit, expected, variance
):
    """Write each judge's expected loss, and all components but that of the judges.

    A score's loss is what it lacks to the top: the sum of the steps above its level. Their
    indicators have covariance F_c (1 - F_d) for c <= d, which makes the variance of the score at
    a node a sum of positive terms.
    """
    K, cuts, H = kappa.shape[1], kappa.shape[2], len(nodes)
    t, growth, F = np.empty(2 * H), np.empty(2 * H), np.empty(2 * H)
    loss, noise, panel = np.empty((K, 2 * H)), np.empty(2 * H), np.empty(2 * H)
    even, odd, f = np.empty((K, H)), np.empty((K, H)), np.empty(K)
    for row in rows:
        _place(s[row], nodes, t, growth)
        noise[:], panel[:] = 0.0, 0.0
        for l in range(K):  # noqa: E741 - a judge, as in the formulas
            u = loss[l]
            u[:] = 0.0
            for c in range(cuts):
                _cumulative(kappa[row, l, c], t, growth, logit, F)
                for k in range(2 * H):
                    part = steps[c] * F[k]
                    noise[k] += (steps[c] - part) * (2.0 * u[k] + part)
                    u[k] += part
            mean = 0.0
            for k in range(H):
                mean += weights[k] * (u[k] + u[H + k])
            expected[row, l] = mean
            for k in range(2 * H):
                u[k] -= mean
                panel[k] += u[k] / K
        residual, shared, own = 0.0, 0.0, 0.0  # variances over t
        for k in range(H):
            residual += weights[k] * (noise[k] + noise[H + k]) / K
            shared += weights[k] * (panel[k] ** 2 + panel[H + k] ** 2)
            for l in range(K):  # noqa: E741
                square = (loss[l, k] - panel[k]) ** 2 + (loss[l, H + k] - panel[H + k]) ** 2
                own += weights[k] * square / K
                even[l, k] = loss[l, k] + loss[l, H + k]
                odd[l, k] = loss[l, k] - loss[l, H + k]

        # Mehler's sums, until what is left of the variances could go to either part.
        enough = UNDECIDED * (residual + shared + own)
        between, within = share[row], rest[row]  # rho^n and 1 - rho^n
        last = between ** float(len(basis))
        parts = np.zeros(4)
        for n in range(1, len(basis) + 1):
            if (shared + own) * (between - last) <= enough:
                break
            sides = odd if n % 2 else even
            center = 0.0
            for l in range(K):  # noqa: E741
                product = 0.0
                for k in range(H):
                    product += basis[n - 1, k] * sides[l, k]
                f[l] = product
                center += product / K
            square = 0.0
            for l in range(K):  # noqa: E741
                square += (f[l] - center) ** 2 / K
            parts[0] += between * center**2
            parts[1] += within * center**2
            parts[2] += between * square
            parts[3] += within * square
            shared = max(shared - center**2, 0.0)
            own = max(own - square, 0.0)
            within += between * rest[row]
            between *= share[row]
        variance[row, 0] = parts[0] + between * shared
        variance[row, 1] = parts[1] + within * shared
        variance[row, 3] = parts[2] + between * own
        variance[row, 4] = parts[3] + within * own
        variance[row, 5] = residual


@compiled
def _below(nodes, weights, rows, kappa, s, logit, edges):  # type: ignore[no-untyped-def]
    """Write the probability of a level up to c to place c + 1."""
    H = len(nodes)
    t, growth, F = np.empty(2 * H), np.empty(2 * H), np.empty(2 * H)
    for row in rows:
        _place(s[row], nodes, t, growth)
        for l in range(kappa.shape[1]):  # noqa: E741
            for c in range(kappa.shape[2]):
                _cumulative(kappa[row, l, c], t, growth, logit, F)
                total = 0.0
                for k in range(H):
                    total += weights[k] * (F[k] + F[H + k])
                edges[row, l, c + 1] = total


@lru_cache(maxsize=len(ORDERS) + 1)
def _rule(order: int) -> _Rule:
    """Return a rule of even order; or the mean effect alone, twice with half its weight."""
    if order == 1:
        return _Rule(np.zeros(1), np.full(1, 0.5), np.empty((0, 1)))
    nodes, weights = special.roots_hermitenorm(order)
    kept = (nodes > 0) & (nodes < REACH)
    nodes, weights = nodes[kept], weights[kept] / np.sqrt(2 * np.pi)
    h = np.ones((order, len(nodes)))
    before = np.zeros(len(nodes))
    for n in range(1, order):
        h[n] = (nodes * h[n - 1] - np.sqrt(n - 1) * before) / np.sqrt(n)
        before = h[n - 1]
    return _Rule(nodes, weights, h[1:] * weights)


def _in_threads(work: Callable[[_Rule, IntArray], None], s: FloatArray, link: str) -> None:
    """Work on blocks of draws that need the same order. Each writes its own rows."""
    place = np.searchsorted(ORDERS, 16 + ORDER_PER_VARIANCE[link] * np.square(s))
    order = np.where(s > 0, ORDERS[np.minimum(place, len(ORDERS) - 1)], 1)
    blocks = [
        (_rule(int(each)), rows[start : start + BLOCK])
        for each in np.unique(order)
        for rows in [np.flatnonzero(order == each)]
        for start in range(0, len(rows), BLOCK)
    ]
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for _ in pool.map(lambda block: work(*block), blocks):
            pass


def _checked(
    thresholds: FloatArray, sigma_scenario: FloatArray, sigma_generation: FloatArray, link: str
) -> tuple[FloatArray, FloatArray]:
    """Return the thresholds, and the sigmas in two rows, as the compiled loops want them."""
    if link not in ORDER_PER_VARIANCE:
        raise ValueError(f"link {link!r} is none of {', '.join(ORDER_PER_VARIANCE)}.")
    kappa = np.ascontiguousarray(thresholds, dtype=float)
    sigmas = np.array([sigma_scenario, sigma_generation], dtype=float)
    if kappa.ndim != 3 or sigmas.shape != (2, len(kappa)):
        raise ValueError(f"sigmas {sigmas.shape[1:]} and thresholds {kappa.shape} do not match.")
    return kappa, sigmas
