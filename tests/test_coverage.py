"""Do 95% intervals of judge offsets cover, with and without scenario:judge in the model?

Evaluated models are fitted independently of each other, so the models of one table are
replicates: one fit is a whole coverage study.
"""

import numpy as np
import pytest
from panels import simulate

import bayesjudge as bj


def coverage(n, m, K, replicates, model, seed, **truth):
    """Share of judge offsets inside their 95% intervals, over replicates."""
    names = [f"r{k:03d}" for k in range(replicates)]
    frame = simulate(n, m, K, mu=5.0, models=names, seed=seed, **truth)
    # `simulate` draws offsets first for each model; the same stream gives them again.
    rng = np.random.default_rng(seed)
    offsets = {}
    for name in names:
        gamma = rng.standard_normal(K)
        gamma -= gamma.mean()
        offsets[name] = gamma * np.sqrt(truth["judge"] / np.mean(gamma**2))
        rng.normal(0, 1, (n, K)), rng.normal(0, 1, (n, 1, 1))
        rng.normal(0, 1, (n, m, 1)), rng.normal(0, 1, (n, m, K))
    scores = bj.read_scores(frame, scale=(0, 10), outside="keep")
    tree = bj.fit(scores, model=model, seed=1, draws=300, tune=400)
    assert tree.attrs["divergences"] == 0
    found = bj.judge_offsets(tree)
    true = np.array([offsets[name][int(judge.split()[1]) - 1] for name, judge in found.index])
    inside = (found["eti_low"] < true) & (true < found["eti_high"])
    return inside.mean(), len(inside)


STRONG = {"scenario": 1.0, "generation": 0.3, "judge": 0.5, "interaction": 0.8, "residual": 0.5}
MILD = {"scenario": 1.0, "generation": 0.3, "judge": 0.5, "interaction": 0.2, "residual": 1.0}


def test_offsets_cover_with_the_interaction_and_fail_without():
    with_it, size = coverage(80, 10, 5, 24, "linear", 11, **STRONG)
    without, _ = coverage(80, 10, 5, 24, "linear-paper", 11, **STRONG)
    error = np.sqrt(0.95 * 0.05 / size)
    assert with_it > 0.95 - 3 * error
    assert without < 0.70


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("shape", "truth", "without"),
    [((80, 10, 5), STRONG, 0.55), ((80, 10, 5), MILD, 0.78), ((20, 5, 3), MILD, 0.84)],
)
def test_coverage_of_offsets_at_length(shape, truth, without):
    """Eq. 1 covers about 55, 78 and 84%; the model with scenario:judge 95%."""
    with_it, size = coverage(*shape, 100, "linear", 5, **truth)
    paper, _ = coverage(*shape, 100, "linear-paper", 5, **truth)
    error = np.sqrt(0.95 * 0.05 / size)
    print(f"{shape}: {with_it:.3f} with scenario:judge, {paper:.3f} without ({size} intervals)")
    assert abs(with_it - 0.95) < 4 * error
    assert abs(paper - without) < 0.08
