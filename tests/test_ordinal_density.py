"""Every ordinal model is built, and its density and gradient checked, without sampling."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ordinal_by_hand import log_likelihood_by_scenario
from panels import crossed, cyclic, thinned
from pytensor.compile.mode import Mode
from scipy import stats

from bayesjudge.ordinal.density import build_ordinal
from bayesjudge.ordinal.gradient import density, log_density
from bayesjudge.ordinal.layout import lay_out_ordinal
from bayesjudge.ordinal.mode import units
from bayesjudge.ordinal.parameters import places, to_parameters
from bayesjudge.priors import induced_dirichlet_logpdf
from bayesjudge.readers import read_scores
from bayesjudge.specs import available, read_spec

CUMULATIVE = [name for name in available() if read_spec(name).family == "cumulative"]
ROWS = {
    "balanced": crossed(4, 2, 3),
    "one generation": crossed(5, 1, 3),
    "two judges": crossed(4, 2, 2),
    "one judge": crossed(5, 3, 1),
    "one call": crossed(8, 1, 1),
    "repeated calls": crossed(3, 2, 2, repeats=2),
    "cells missing": thinned(crossed(5, 3, 4), 0.6),
    "cyclic, one call": cyclic(9, 1, 3),
    "cyclic, more calls than judges": cyclic(4, 5, 3),
    "one scenario": crossed(1, 5, 3),
}
PANELS = {  # evaluated models that different judges scored, each in its own design
    "A": crossed(3, 2, 4),
    "B": [row for row in crossed(3, 2, 4) if row[2] in (1, 3)],
    "C": cyclic(6, 1, 4),
    "D": [(i, j, 2) for i, j, _ in crossed(3, 3, 1)],
}
PRIORS = {
    "scenario": '"HalfStudentT", kwargs = { nu = 4, sigma = 1.5 }',
    "generation": '"Exponential", kwargs = { scale = 0.8 }',
    "judge": '"Gamma", kwargs = { alpha = 2, beta = 3 }',
}
AS_IS = Mode(linker="py", optimizer="fast_compile")  # compiling takes longer than a few values


def table(rows, levels=4, seed=0):
    by_model = rows if isinstance(rows, dict) else {"A": rows}
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [(name, *row) for name, own in by_model.items() for row in own],
        columns=["model", "scenario", "generation", "judge"],
    )
    frame["score"] = rng.integers(1, levels + 1, len(frame))
    return read_scores(frame, levels=list(range(1, levels + 1)), repeats="keep")


def written(path, name, priors=PRIORS, total=2.0):
    """A copy of a shipped specification with other priors."""
    text = (Path(__file__).parents[1] / "models" / f"{name}.toml").read_text(encoding="utf-8")
    for term, prior in priors.items():
        line = rf"^{term} = {{ dist = .*$"
        text, found = re.subn(line, f"{term} = {{ dist = {prior} }}", text, flags=re.MULTILINE)
        assert found == 1
    assert text.count("total = 2.0") == 1
    text = text.replace("total = 2.0", f"total = {total}")
    path = path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_spec(path)


class WithPymc:
    """The PyMC model of a layout: log prior, log likelihood, and the gradient of their sum."""

    def __init__(self, layout):
        model = build_ordinal(layout)
        self.start = model.initial_point()["vector"]
        terms = [model[name] for name in ("prior", "likelihood")]
        self._all = model.compile_fn(
            [*model.logp(vars=terms, sum=False), model.logp(), model.dlogp()], mode=AS_IS
        )

    def __call__(self, vector):
        prior, likelihood, together, gradient = self._all({"vector": vector})
        assert together == pytest.approx(prior + likelihood, abs=1e-9)
        return float(prior), float(likelihood), gradient


def by_numpy(layout, **options):
    """The density that is sampled, and its gradient, as functions of the vector."""
    d = density(layout, **options)
    return lambda v: log_density(d, v)[0], lambda v: log_density(d, v)[1]


def zero_sum_coordinates(values):
    """Coordinates of vectors that sum to zero, in an orthonormal basis found by eigenvalues."""
    size = values.shape[-1]
    basis = np.linalg.eigh(np.eye(size) - 1 / size)[1][:, 1:]
    return values @ basis


def natural(layout, vectors):
    """All parameters of draws of the vector, as many coordinates as the vector has."""
    p = to_parameters(layout, places(layout), vectors)
    parts = [p.sigma, zero_sum_coordinates(p.mean), p.threshold]
    parts += [
        zero_sum_coordinates(p.offset[:, c.model, c.judge_ids])
        for c in layout.cells
        if c.n_judges > 1
    ]
    if layout.scale_prior is not None:
        parts.append(zero_sum_coordinates(p.log_scale))
    return p, np.concatenate(parts, axis=1)


def prior_by_hand(layout, vector):
    """Log priors of the parameters, and the Jacobian from the vector to them by differences."""
    step = 1e-5 * np.eye(len(vector))
    p, _ = natural(layout, vector[None])
    ends = [natural(layout, vector + s * step)[1] for s in (1, -1)]
    jacobian = (ends[0] - ends[1]).T / 2e-5
    assert jacobian.shape == (len(vector), len(vector))
    total = np.linalg.slogdet(jacobian)[1]
    for slot, sigma in zip(layout.slots, p.sigma[0], strict=True):
        total += layout.priors[slot.name].logpdf(sigma)
        if slot.name == "judge":
            own = p.offset[0, slot.model, layout.cells[slot.model].judge_ids]
            total += stats.norm(0, sigma).logpdf(zero_sum_coordinates(own)).sum()
    mean_sd = layout.mean_prior.kwargs["sigma"]
    total += stats.norm(0, mean_sd).logpdf(zero_sum_coordinates(p.mean[0])).sum()
    concentration = layout.threshold_prior.kwargs["total"] / len(layout.levels.values)
    noise = {"logit": np.pi**2 / 3, "probit": 1.0}[layout.spec.link]
    unit = np.sqrt(1 + (p.effects[0] ** 2).sum(axis=1).mean() / noise)
    scaled = p.threshold[0] / unit
    total += induced_dirichlet_logpdf(scaled, concentration, layout.spec.link)
    total -= len(scaled) * np.log(unit)
    if layout.scale_prior is not None:
        scale_sd = layout.scale_prior.kwargs["sigma"]
        total += stats.norm(0, scale_sd).logpdf(zero_sum_coordinates(p.log_scale[0])).sum()
    return float(total)


def likelihood_by_hand(layout, vector):
    p = to_parameters(layout, places(layout), vector[None])
    total = 0.0
    for cells in layout.cells:
        level = np.searchsorted(layout.levels.values, cells.score)
        own = p.by_judge[0, cells.model, cells.judge_ids]
        sigma = p.effects[0, cells.model]
        total += log_likelihood_by_scenario(cells, level, own, sigma, layout.spec.link).sum()
    return float(total)


def compare_with_hand(layout, seed=1, positions=2):
    """Value at a few places by hand, gradient by differences, and finite far out."""
    with_pymc, (value, gradient) = WithPymc(layout), by_numpy(layout)
    scenarios, size = sum(cells.n_scenarios for cells in layout.cells), places(layout).size
    assert with_pymc.start.shape == (size,)
    # The lattice ends 4.5 standard deviations out unless data ask for more: what is beyond, or a
    # node there, is 7e-6 of a scenario's likelihood, and 1.4e-4 of its slope in sigma_scenario.
    close, steep = 7e-6 * scenarios, 1.5e-4 * scenarios

    def agree(vector):
        prior, likelihood, slope = with_pymc(vector)
        assert np.isfinite([prior, likelihood, *slope]).all()
        assert value(vector) == pytest.approx(prior + likelihood, abs=close)
        np.testing.assert_allclose(gradient(vector), slope, rtol=1e-6, atol=steep)
        return prior, likelihood

    rng = np.random.default_rng(seed)
    for vector in rng.uniform(-1.2, 1.2, (positions, size)):
        prior, likelihood = agree(vector)
        assert prior == pytest.approx(prior_by_hand(layout, vector), abs=1e-6)
        assert likelihood == pytest.approx(likelihood_by_hand(layout, vector), abs=close)
    for slope, step in zip(gradient(vector), 1e-4 * np.eye(size), strict=True):
        difference = (value(vector + step) - value(vector - step)) / 2e-4
        assert slope == pytest.approx(difference, rel=1e-4, abs=steep)
    for vector in (with_pymc.start, *rng.uniform(-3, 3, (5, size))):
        agree(vector)


@pytest.mark.parametrize(
    ("name", "design"),
    [
        (name, design)
        for name in CUMULATIVE
        for design in ROWS
        # One judge has no scale of its own.
        if not (read_spec(name).threshold_scale and design in ("one judge", "one call"))
    ],
)
def test_density_and_gradient_of_every_model(name, design):
    compare_with_hand(lay_out_ordinal(table(ROWS[design]), read_spec(name)))


@pytest.mark.parametrize("name", CUMULATIVE)
def test_evaluated_models_with_panels_that_differ(name):
    layout = lay_out_ordinal(table(PANELS), read_spec(name))
    assert [cells.n_judges for cells in layout.cells] == [4, 2, 4, 1]
    compare_with_hand(layout, positions=1)


@pytest.mark.parametrize("name", CUMULATIVE)
@pytest.mark.parametrize("weight", [0.5, 4.0, 8.0])
def test_other_priors(name, weight, tmp_path):
    spec = written(tmp_path, name, total=weight)
    assert {prior.dist for prior in spec.sd.values()} == {"HalfStudentT", "Exponential", "Gamma"}
    compare_with_hand(lay_out_ordinal(table(ROWS["balanced"]), spec))


@pytest.mark.parametrize("name", CUMULATIVE)
@pytest.mark.parametrize("used", [[1, 2, 4, 6], [3, 5, 6]])
def test_levels_that_never_occur(name, used, tmp_path):
    frame = table(ROWS["balanced"], levels=len(used)).frame
    frame["score"] = np.array(used)[frame["score"].astype(int) - 1]
    scores = read_scores(frame, levels=range(1, 8))
    layout = lay_out_ordinal(scores, read_spec(name), keep_unused_levels=True)
    assert len(layout.levels.values) == 7
    assert layout.concentration == pytest.approx(2 / 7)
    stretched = places(layout).stretch > 1
    assert [level for level in range(2, 7) if level not in used] == list(np.arange(2, 7)[stretched])
    compare_with_hand(layout)
    # A level that is all but impossible keeps a finite density.
    value, gradient = by_numpy(layout)
    vector = np.zeros(places(layout).size)
    vector[places(layout).threshold][1:][stretched] = -30.0
    assert np.isfinite(value(vector))
    assert np.isfinite(gradient(vector)).all()


@pytest.mark.parametrize("dist", ["HalfCauchy", "InverseGamma", "Weibull", "LogNormal"])
def test_every_prior_family_of_standard_deviations(dist, tmp_path):
    kwargs = {
        "HalfCauchy": "beta = 0.5",
        "InverseGamma": "alpha = 3, beta = 2",
        "Weibull": "alpha = 1.5, beta = 0.7",
        "LogNormal": "mu = -0.5, sigma = 0.8",
    }[dist]
    prior = f'"{dist}", kwargs = {{ {kwargs} }}'
    spec = written(tmp_path, "ordinal", {"scenario": prior, "judge": prior})
    compare_with_hand(lay_out_ordinal(table(ROWS["two judges"]), spec), positions=1)


@pytest.mark.parametrize("name", ["ordinal", "ordinal_probit"])
def test_two_levels_have_one_threshold(name):
    layout = lay_out_ordinal(table(ROWS["balanced"], levels=2), read_spec(name))
    assert to_parameters(layout, places(layout), np.zeros((1, 6))).threshold.shape == (1, 1)
    compare_with_hand(layout)


@pytest.mark.parametrize("name", CUMULATIVE)
def test_the_units_are_the_mode_and_the_curvature_there(name):
    layout = lay_out_ordinal(table(crossed(10, 2, 3), seed=4), read_spec(name))
    centre, root, reach = units(layout)
    value, gradient = by_numpy(layout)
    np.testing.assert_allclose(gradient(centre), 0, atol=0.05)
    curvature = -np.stack(
        [
            (gradient(centre + step) - gradient(centre - step)) / 2e-3
            for step in 1e-3 * np.eye(len(centre))
        ]
    )
    np.testing.assert_allclose(root.T @ curvature @ root, np.eye(len(centre)), atol=0.05)
    # Half a standard deviation out, the density is near a standard normal one.
    for position in 0.5 * np.vstack([np.eye(len(centre)), -np.eye(len(centre))]):
        assert 0.05 < value(centre) - value(centre + root @ position) < 0.25
    # The reach that the data have at the mode serves around it.
    nearby = by_numpy(layout, reach=reach)
    for position in np.random.default_rng(0).normal(size=(4, len(centre))):
        vector = centre + root @ position
        assert nearby[0](vector) == pytest.approx(value(vector), abs=2e-4)
        np.testing.assert_allclose(nearby[1](vector), gradient(vector), atol=5e-3)


def test_neither_order_of_rows_nor_labels_matter():
    scores = table({"A": ROWS["balanced"], "B": ROWS["cells missing"]})
    frame = scores.frame
    shuffled = frame.sample(frac=1, random_state=1)
    renamed = frame.assign(scenario=[f"q{90 - int(i)}" for i in frame["scenario"]])
    ends = []
    for version in (frame, shuffled, renamed):
        spec = read_spec("ordinal")
        layout = lay_out_ordinal(read_scores(version, levels=[1, 2, 3, 4], repeats="keep"), spec)
        ends.append(by_numpy(layout)[0](np.linspace(-1, 1, places(layout).size)))
    assert ends[1] == ends[0]
    assert ends[2] == pytest.approx(ends[0], abs=1e-9)
