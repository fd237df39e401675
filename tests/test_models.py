"""Every model is built, and its density and gradient checked, without sampling."""

import numpy as np
import pandas as pd
import pytest
from panels import crossed, cyclic, dense_log_marginal, simulate, thinned

from bayesjudge.design.cells import cells_by_model
from bayesjudge.engines.conditional import variances
from bayesjudge.layout import lay_out
from bayesjudge.marginal import gaussian
from bayesjudge.models import build, families, to_sigma
from bayesjudge.readers import read_scores
from bayesjudge.specs import available, read_spec

DESIGNS = {
    "balanced": crossed(6, 3, 3),
    "one generation": crossed(6, 1, 3),
    "one judge": crossed(6, 3, 1),
    "two judges": crossed(6, 2, 2),
    "repeated calls": crossed(4, 2, 3, repeats=2),
    "cells missing": thinned(crossed(6, 3, 4), 0.7),
    "cyclic, one call": cyclic(12, 1, 3),
    "cyclic, more calls than judges": cyclic(9, 5, 3),
}


LINEAR = [name for name in available() if read_spec(name).family == "gaussian"]


def table(rows, seed=0, model="A"):
    frame = pd.DataFrame(rows, columns=["scenario", "generation", "judge"])
    score = np.random.default_rng(seed).normal(5, 1.3, len(rows))
    return frame.assign(model=model, score=score)


def read(frame):
    return read_scores(frame, scale=(0, 10), repeats="keep", outside="keep")


def at(layout, z):
    """A point of the model: z is the position of every slot on the scale that is sampled."""
    return {name: z[members] for name, members in families(layout).items()}


def sigma_at(layout, point):
    sigma = np.empty(len(layout.slots))
    for name, members in families(layout).items():
        plain = point[name] if name.startswith("z_") else np.exp(point[name])
        sigma[members] = to_sigma(layout, name, plain)
    return sigma


def density(model, layout, z):
    names = {name: name if name.startswith("z_") else f"{name}_log__" for name in families(layout)}
    point = {names[name]: value for name, value in at(layout, z).items()}
    logp, slope = model.compile_logp(mode="FAST_COMPILE"), model.compile_dlogp(mode="FAST_COMPILE")
    gradient = np.empty(len(z))
    flat = slope(point)
    start = 0
    for members in families(layout).values():
        gradient[members] = flat[start : start + len(members)]
        start += len(members)
    return float(logp(point)), gradient


def by_hand(scores, layout, z):
    """Log prior of every sigma, log Jacobian from what is sampled, and the dense normal."""
    sigma, step = sigma_at(layout, at(layout, z)), 1e-5
    ends = [sigma_at(layout, at(layout, z + s * step)) for s in (1, -1)]
    total = np.log((ends[0] - ends[1]) / (2 * step)).sum()
    for slot, value in zip(layout.slots, sigma, strict=True):
        total += layout.priors[slot.name].logpdf(value)
    for cells in cells_by_model(scores.calls, len(scores.models)):
        own = variances(layout, sigma[None], cells.model)
        v = gaussian.Variances(**{name: value[0] for name, value in vars(own).items()})
        mean = layout.mean_prior.kwargs
        total += dense_log_marginal(cells, v, mean["mu"], mean["sigma"])
    return total


def compare_with_dense(scores, spec):
    layout = lay_out(scores, spec)
    model = build(layout)
    z = np.random.default_rng(1).uniform(-1.2, 0.2, len(layout.slots))
    value, gradient = density(model, layout, z)
    assert value == pytest.approx(by_hand(scores, layout, z), abs=1e-6)  # Jacobian by differences
    step = 1e-5
    for k in range(len(z)):
        moved = np.arange(len(z)) == k
        ends = [density(model, layout, z + s * step * moved)[0] for s in (1, -1)]
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("name", LINEAR)
def test_density_and_gradient_of_every_model(name, design):
    compare_with_dense(read(table(DESIGNS[design])), read_spec(name))


def test_density_of_models_with_different_designs_in_one_table():
    frame = pd.concat(
        [
            table(DESIGNS["balanced"], 1, "A"),
            table(DESIGNS["cells missing"], 2, "B"),
            table(crossed(6, 1, 2), 3, "C"),
        ]
    )
    compare_with_dense(read(frame), read_spec("linear"))
    compare_with_dense(read(frame), read_spec("linear-judge-residual"))


def test_density_with_several_prior_families(tmp_path):
    from pathlib import Path

    text = (Path(__file__).parents[1] / "models" / "linear.toml").read_text(encoding="utf-8")
    for term, prior in {
        "scenario": '"HalfStudentT", kwargs = { nu = 4, sigma = 0.1 }',
        "generation": '"Exponential", kwargs = { scale = 0.1 }',
        "judge": '"LogNormal", kwargs = { mu = -2, sigma = 1 }',
    }.items():
        text = text.replace(
            f'\n{term} = {{ dist = "HalfNormal", kwargs = {{ sigma = 0.125 }}',
            f"\n{term} = {{ dist = {prior}",
        )
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    spec = read_spec(path)
    assert {p.dist for p in spec.sd.values()} >= {"HalfStudentT", "Exponential", "LogNormal"}
    compare_with_dense(read(table(DESIGNS["balanced"])), spec)


def test_the_order_of_rows_and_the_labels_do_not_matter():
    frame = simulate(
        6, 2, 3, scenario=0.5, generation=0.2, judge=0.3, interaction=0.1, residual=0.4
    )
    spec = read_spec("linear")
    shuffled = frame.sample(frac=1, random_state=1)
    renamed = frame.assign(scenario=frame["scenario"].map(lambda i: f"q{100 - i}"))
    ends = []
    for version in (frame, shuffled, renamed):
        layout = lay_out(read(version), spec)
        z = np.linspace(-1, 0, len(layout.slots))
        ends.append(density(build(layout), layout, z)[0])
    assert ends[1] == ends[0]
    assert ends[2] == pytest.approx(ends[0], abs=1e-10)


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e-6), (0.0, 1e6)])
def test_shift_and_scale_of_scores_and_scale_change_nothing_but_the_unit(shift, scale):
    frame = simulate(
        6, 2, 3, scenario=0.5, generation=0.2, judge=0.3, interaction=0.1, residual=0.4
    )
    moved = frame.assign(score=frame["score"] * scale + shift)
    spec = read_spec("linear")
    plain = lay_out(read(frame), spec)
    other = lay_out(read_scores(moved, scale=(shift, shift + 10 * scale), outside="keep"), spec)
    z = np.linspace(-1, 0, len(plain.slots))
    at = [density(build(layout), layout, z)[0] for layout in (plain, other)]
    # Densities of N scores scale by that many units; that of z does not.
    assert at[1] == pytest.approx(at[0] - len(frame) * np.log(scale), abs=1e-5)
