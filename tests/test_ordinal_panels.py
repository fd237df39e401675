"""Tables drawn from the cumulative-link model have the frequencies that quadrature gives."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from ordinal_panels import draw_panel
from scipy.special import expit, ndtr

NODES, WEIGHTS = hermegauss(61)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
THRESHOLDS = np.array([-2.0, -0.5, 1.0])
OFFSETS = np.array([[-0.9, 0.9], [0.4, -0.4]])
MEANS = (0.3, -0.7)
SIGMA_SCENARIO, SIGMA_GENERATION = 1.2, 0.9
N = 20_000
CDF = {"logit": expit, "probit": ndtr}


def panel(link):
    frame = draw_panel(
        *(N, 2, 2),
        thresholds=THRESHOLDS,
        sigma_scenario=SIGMA_SCENARIO,
        sigma_generation=SIGMA_GENERATION,
        offsets=OFFSETS,
        values=(1, 1.5, 2, 4),
        link=link,
        seed=3,
        models=("A", "B"),
        means=MEANS,
    )
    return frame, frame["score"].to_numpy().reshape(2, N, 2, 2)


def above(link, effect):
    """P(score is in the highest level) by model, judge and the axes of the effect."""
    at = np.asarray(MEANS)[:, None] + OFFSETS
    return CDF[link](at.reshape(2, 2, *[1] * np.ndim(effect)) + effect - THRESHOLDS[-1])


def near(frequency, p):
    return np.all(np.abs(frequency - p) < 4.5 * np.sqrt(p * (1 - p) / N))


@pytest.mark.parametrize("link", CDF)
def test_levels_are_as_frequent_as_the_model_says(link):
    frame, score = panel(link)
    effect = np.hypot(SIGMA_SCENARIO, SIGMA_GENERATION) * NODES
    for t, mean in enumerate(MEANS):
        for judge, offset in enumerate(OFFSETS[t]):
            cumulative = CDF[link](THRESHOLDS[:, None] - mean - offset - effect) @ WEIGHTS
            p = np.diff(np.concatenate([[0], cumulative, [1]]))
            own = frame[(frame["model"] == "AB"[t]) & (frame["judge"] == f"judge {judge + 1}")]
            of_first = own.loc[own["generation"] == 1, "score"].to_numpy()
            frequency = [(of_first == value).mean() for value in (1, 1.5, 2, 4)]
            assert near(np.array(frequency), p)
            assert np.array_equal(of_first, score[t, :, 0, judge])


@pytest.mark.parametrize("link", CDF)
def test_judges_share_generations_and_generations_their_scenario(link):
    _, score = panel(link)
    top = score == 4
    alpha, beta = SIGMA_SCENARIO * NODES[:, None], SIGMA_GENERATION * NODES
    p = above(link, alpha + beta)  # by model, judge, alpha, beta
    one_generation = (p[:, 0] * p[:, 1]) @ WEIGHTS @ WEIGHTS
    two_generations = (p @ WEIGHTS).prod(axis=1) @ WEIGHTS
    assert near((top[:, :, 0, 0] & top[:, :, 0, 1]).mean(axis=1), one_generation)
    assert near((top[:, :, 0, 0] & top[:, :, 1, 1]).mean(axis=1), two_generations)
    assert not near(one_generation, two_generations)


def test_thresholds_may_be_by_judge():
    frame = draw_panel(
        *(4, 3, 2),
        thresholds=[[-100.0, 100.0], [-100.0, -90.0]],
        sigma_scenario=1.0,
        sigma_generation=1.0,
        offsets=[0.0, 0.0],
    )
    assert len(frame) == 24
    assert frame.groupby("judge")["score"].unique().map(list).to_dict() == {
        "judge 1": [2],
        "judge 2": [3],
    }
