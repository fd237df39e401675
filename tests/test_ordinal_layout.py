"""An ordinal specification laid on a table: what is estimated, reported, and what vectors mean."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
import pytest
from panels import crossed, cyclic, mixed, table_of, thinned
from pytensor.compile.mode import Mode

from bayesjudge.errors import DesignError, FitError
from bayesjudge.layout import Slot, lay_out
from bayesjudge.ordinal.components import known_components, why_score_sums
from bayesjudge.ordinal.layout import lay_out_ordinal
from bayesjudge.ordinal.parameters import (
    parameters,
    places,
    to_parameters,
    zero_sum_basis,
    zero_sum_log_density,
)
from bayesjudge.priors import Prior
from bayesjudge.readers import read_scores
from bayesjudge.specs import read_spec
from bayesjudge.terms import TERMS

ORDINAL, PROBIT, SCALE = (
    read_spec(name) for name in ("ordinal", "ordinal_probit", "ordinal_judge_scale")
)
ONE = "each scenario has one generation"
UNSHARED = "no generation was scored by two judges"
PANEL = ("scenario+generation", "judge", "scenario:judge+generation:judge", "residual")
# By design: rows, latent standard deviations, components on the score scale, why sums are sums.
DESIGNS = {
    "crossed": (crossed(4, 2, 3), ("scenario", "generation", "judge"), TERMS, {}),
    "cells missing": (
        thinned(crossed(6, 3, 3), 0.7),
        ("scenario", "generation", "judge"),
        TERMS,
        {},
    ),
    "one generation": (
        crossed(4, 1, 3),
        ("scenario+generation", "judge"),
        PANEL,
        {PANEL[0]: ONE, PANEL[2]: ONE},
    ),
    "one judge": (
        crossed(4, 3, 1),
        ("scenario",),
        ("scenario", "generation+residual"),
        {"generation+residual": UNSHARED},
    ),
    "one judge, one generation": (
        crossed(6, 1, 1),
        (),
        ("scenario+generation+residual",),
        {"scenario+generation+residual": f"{ONE}; {UNSHARED}"},
    ),
    "one judge, repeats": (
        crossed(4, 2, 1, repeats=2),
        ("scenario", "generation"),
        ("scenario", "generation", "residual"),
        {},
    ),
    "cyclic, one call a scenario": (
        cyclic(9, 1, 3),
        ("judge",),
        ("scenario+generation+scenario:judge+generation:judge+residual", "judge"),
        {"scenario+generation+scenario:judge+generation:judge+residual": f"{ONE}; {UNSHARED}"},
    ),
    "cyclic, fewer calls than judges": (
        cyclic(9, 2, 3),
        ("scenario", "judge"),
        ("scenario", "generation+generation:judge+residual", "judge", "scenario:judge"),
        {"generation+generation:judge+residual": UNSHARED},
    ),
    "cyclic, more calls than judges": (
        cyclic(9, 5, 3),
        ("scenario", "judge"),
        ("scenario", "generation+generation:judge+residual", "judge", "scenario:judge"),
        {"generation+generation:judge+residual": UNSHARED},
    ),
    "repeats": (
        crossed(3, 2, 2, repeats=2),
        ("scenario", "generation", "judge"),
        TERMS,
        {},
    ),
    "repeats, one generation": (
        crossed(4, 1, 2, repeats=2),
        ("scenario+generation", "judge"),
        PANEL,
        {PANEL[0]: ONE, PANEL[2]: ONE},
    ),
    "one scenario": (
        crossed(1, 5, 3),
        ("generation", "judge"),
        ("generation", "judge", "generation:judge", "residual"),
        {},
    ),
}
# Tables on which vectors are given a meaning: specification, and rows by evaluated model.
TABLES = {
    "crossed": (ORDINAL, {"A": crossed(4, 2, 3)}),
    "probit, two judges": (PROBIT, {"A": crossed(4, 2, 2)}),
    "one judge": (ORDINAL, {"A": crossed(4, 3, 1)}),
    "nothing but thresholds": (ORDINAL, {"A": crossed(6, 1, 1)}),
    "scale by judge": (SCALE, {"A": crossed(4, 2, 4)}),
    "panels that differ": (
        SCALE,
        {
            "A": crossed(4, 2, 4),
            "B": [row for row in crossed(4, 2, 4) if row[2] in (1, 3)],
            "C": cyclic(8, 1, 4),
            "D": [(i, j, 2) for i, j, _ in crossed(4, 2, 1)],
        },
    ),
}


def leveled(rows, seed=0, levels=5, low=1, **options):
    """A table of whole scores at random; rows of one model, or by model."""
    by_model = rows if isinstance(rows, dict) else {"A": rows}
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            (name, f"s{i}", f"g{j}", f"j{k}", int(rng.integers(low, levels + 1)))
            for name, own in by_model.items()
            for i, j, k in own
        ],
        columns=["model", "scenario", "generation", "judge", "score"],
    )
    return read_scores(frame, **{"levels": list(range(1, levels + 1)), "repeats": "keep"} | options)


def laid(name, **changes):
    spec, rows = TABLES[name]
    return lay_out_ordinal(leveled(rows), replace(spec, **changes))


def vectors_for(layout, draws=20, width=1.5, seed=0):
    size = places(layout).size
    return np.random.default_rng(seed).uniform(-width, width, (draws, size))


class TestNames:
    @pytest.mark.parametrize("name", DESIGNS)
    def test_latent_effects_and_components_of_the_score_scale(self, name):
        rows, latent, known, why = DESIGNS[name]
        layout = lay_out_ordinal(leveled(rows), ORDINAL)
        assert layout.slots == tuple(Slot(name, 0) for name in latent)
        assert layout.names == latent
        assert set(layout.priors) == set(latent)
        assert known_components(layout.cells[0], layout.structures[0]) == known
        assert why_score_sums(layout.cells, layout.structures) == why

    def test_every_term_that_the_table_shows_is_in_one_name(self):
        for rows, _, known, _ in DESIGNS.values():
            layout = lay_out_ordinal(leveled(rows), ORDINAL)
            terms = [term for name in known for term in name.split("+")]
            absent = layout.structures[0].absent
            gone = {term for term in TERMS for part in absent if part in term.split(":")}
            assert sorted(terms) == sorted(set(TERMS) - gone)

    def test_evaluated_models_have_their_own_in_turn(self):
        rows = {"A": crossed(4, 2, 3), "B": crossed(4, 1, 3), "C": cyclic(9, 2, 3)}
        layout = lay_out_ordinal(leveled(rows), ORDINAL)
        expected = {
            "A": ("scenario", "generation", "judge"),
            "B": ("scenario+generation", "judge"),
            "C": ("scenario", "generation", "judge"),
        }
        assert layout.slots == tuple(
            Slot(name, t) for t, names in enumerate(expected.values()) for name in names
        )
        assert layout.names == ("scenario", "scenario+generation", "generation", "judge")
        why = why_score_sums(layout.cells, layout.structures)
        assert why == {
            PANEL[0]: ONE,
            PANEL[2]: ONE,
            "generation+generation:judge+residual": UNSHARED,
        }

    @pytest.mark.parametrize(
        ("designs", "own"),
        [
            # What all have in the noise sets its unit; what only some have is beside it.
            (("one judge", "cyclic, more calls than judges"), ((), ())),
            (("crossed", "one judge"), ((), ("generation",))),
            (("one generation", "cyclic, one call a scenario"), ((), ("scenario+generation",))),
            (
                ("one judge", "one judge, one generation", "cyclic, fewer calls than judges"),
                ((), ("scenario",), ()),
            ),
        ],
    )
    def test_noise_that_is_wider_than_that_of_others_has_a_parameter(self, designs, own):
        rows = {str(t): DESIGNS[name][0] for t, name in enumerate(designs)}
        layout = lay_out_ordinal(leveled(rows), ORDINAL)
        for t, (name, more) in enumerate(zip(designs, own, strict=True)):
            names = [slot.name for slot in layout.slots if slot.model == t]
            assert sorted(names) == sorted([*DESIGNS[name][1], *more])
            known = known_components(layout.cells[t], layout.structures[t])
            assert known == DESIGNS[name][2]

    def test_each_slot_stands_where_its_effect_does_and_nowhere_else(self):
        rows = {"A": crossed(4, 2, 3), "B": crossed(4, 1, 3), "C": cyclic(9, 2, 3)}
        layout = lay_out_ordinal(leveled(rows), ORDINAL)
        roles = layout.roles()
        assert roles.shape == (3, 3, 8)
        places_of = {
            (t, place): [layout.slots[k].name for k in np.flatnonzero(roles[t, place])]
            for t in range(3)
            for place in range(3)
        }
        assert places_of == {
            (0, 0): ["scenario"],
            (0, 1): ["generation"],
            (0, 2): ["judge"],
            (1, 0): ["scenario+generation"],
            (1, 1): [],
            (1, 2): ["judge"],
            (2, 0): ["scenario"],
            (2, 1): ["generation"],
            (2, 2): ["judge"],
        }
        assert roles.sum() == 8


class TestPriors:
    def test_are_those_of_the_specification(self):
        layout = lay_out_ordinal(leveled(crossed(4, 2, 3)), ORDINAL)
        assert layout.priors == ORDINAL.sd
        assert layout.mean_prior == ORDINAL.mean
        assert layout.threshold_prior == ORDINAL.threshold_prior
        assert layout.scale_prior is None
        by_judge = lay_out_ordinal(leveled(crossed(4, 2, 3)), SCALE)
        assert by_judge.scale_prior == SCALE.threshold_scale

    def test_a_sum_takes_the_widest_prior_of_its_terms(self):
        wide = replace(
            ORDINAL, sd={**ORDINAL.sd, "generation": Prior("Exponential", {"scale": 9.0})}
        )
        layout = lay_out_ordinal(leveled(crossed(4, 1, 3)), wide)
        assert layout.priors["scenario+generation"] == Prior("Exponential", {"scale": 9.0})

    @pytest.mark.parametrize("factor", [0.5, 2.0])
    def test_one_number_widens_all_standard_deviations_and_nothing_else(self, factor):
        table = leveled({"A": crossed(4, 2, 3), "B": crossed(4, 2, 3)})
        one, other = (lay_out_ordinal(table, SCALE, prior_scale=s) for s in (1.0, factor))
        assert other.priors == {name: p.scaled(factor) for name, p in one.priors.items()}
        for name in ("mean_prior", "threshold_prior", "scale_prior"):
            assert getattr(other, name) == getattr(one, name)

    def test_the_scale_of_the_scores_does_not_matter(self):
        frame = leveled(crossed(4, 2, 3)).frame
        one = lay_out_ordinal(read_scores(frame), ORDINAL)
        other = lay_out_ordinal(
            read_scores(frame.assign(score=frame["score"].astype(float) ** 2)), ORDINAL
        )
        assert one.priors == other.priors
        for a, b in zip(one.tallies, other.tallies, strict=True):
            np.testing.assert_array_equal(a, b)


class TestTallies:
    @pytest.mark.parametrize("name", TABLES)
    def test_levels_are_counted_for_the_judges_that_gave_them(self, name):
        """However the rows are sorted, and whatever scores the levels have."""
        spec, rows = TABLES[name]
        table = leveled(rows, seed=3)
        values = {1: -2.0, 2: 0.5, 3: 1.0, 4: 7.0, 5: 7.5}
        frame = table.frame.assign(score=table.frame["score"].map(values))
        frame = frame.sample(frac=1, random_state=1)
        layout = lay_out_ordinal(
            read_scores(frame, levels=list(values.values()), repeats="keep"),
            spec,
            keep_unused_levels=True,
        )
        t = layout.tallies
        found = np.zeros((len(layout.models), len(layout.judges), 5))
        for m in range(len(layout.models)):
            ballots, calls, scenarios, entries = t.starts[m]
            first = t.ballot_start[ballots + m : t.starts[m + 1][0] + m + 1]
            for e in range(entries, t.starts[m + 1][3]):
                b = t.ballot[e]
                for c in range(calls + first[b], calls + first[b + 1]):
                    found[m, t.judge[c], t.level[c]] += t.copies[e]
            assert t.starts[m + 1][2] - scenarios == layout.cells[m].n_scenarios
        expected = np.zeros_like(found)
        place = list(values.values())
        for row in frame.itertuples():
            where = (
                layout.models.index(row.model),
                layout.judges.index(row.judge),
                place.index(row.score),
            )
            expected[where] += 1
        np.testing.assert_array_equal(found, expected)


class TestVectors:
    @pytest.mark.parametrize("name", TABLES)
    def test_numpy_and_pytensor_agree(self, name):
        layout = laid(name)
        where = places(layout)
        vector, sigma = pt.dvector(), pt.dvector()
        function = pytensor.function(
            [vector, sigma],
            list(parameters(layout, where, vector, sigma, pt)),
            mode=Mode(linker="py", optimizer="fast_compile"),
            on_unused_input="ignore",
        )
        vectors = vectors_for(layout)
        by_numpy = to_parameters(layout, where, vectors)
        for k, at in enumerate(vectors):
            for found, expected in zip(function(at, by_numpy.sigma[k]), by_numpy, strict=True):
                np.testing.assert_allclose(found, expected[k], rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("name", TABLES)
    def test_thresholds_ascend_and_effects_sum_to_zero(self, name):
        layout = laid(name)
        p = to_parameters(layout, places(layout), vectors_for(layout, 200))
        assert (np.diff(p.threshold, axis=-1) > 0).all()
        assert (np.diff(p.by_judge, axis=-1) > 0).all()
        np.testing.assert_allclose(p.mean.sum(axis=-1), 0, atol=1e-12)
        np.testing.assert_allclose(p.log_scale.sum(axis=-1), 0, atol=1e-12)
        for cells in layout.cells:
            own = p.offset[:, cells.model]
            np.testing.assert_allclose(own[:, cells.judge_ids].sum(axis=-1), 0, atol=1e-12)
            others = np.setdiff1d(np.arange(len(layout.judges)), cells.judge_ids)
            assert not own[:, others].any()
            assert (own[:, cells.judge_ids].any(axis=1) == (cells.n_judges > 1)).all()

    def test_thresholds_of_a_judge_are_spread_around_their_mean_and_moved(self):
        layout = laid("panels that differ")
        p = to_parameters(layout, places(layout), vectors_for(layout))
        centre = p.threshold.mean(axis=-1)[:, None, None]
        spread = np.exp(p.log_scale)[:, :, None] * (p.threshold[:, None, :] - centre)
        moved = p.mean[:, :, None] + p.offset
        np.testing.assert_allclose(p.by_judge, (centre + spread)[:, None] - moved[..., None])
        assert p.log_scale.any(axis=-1).all()

    def test_without_a_scale_by_judge_all_have_the_same_thresholds(self):
        layout = laid("crossed")
        p = to_parameters(layout, places(layout), vectors_for(layout))
        assert not p.log_scale.any()
        expected = p.threshold[:, None, :] - p.offset[:, 0, :, None]
        np.testing.assert_allclose(p.by_judge[:, 0], expected)

    def test_standard_deviations_are_quantiles_or_logs(self):
        other = replace(ORDINAL, sd={**ORDINAL.sd, "judge": Prior("Exponential", {"scale": 0.7})})
        layout = lay_out_ordinal(leveled(crossed(4, 2, 3)), other)
        vectors = np.zeros((3, places(layout).size))
        vectors[1, :3], vectors[2, :3] = 1.0, -9.0
        sigma = to_parameters(layout, places(layout), vectors).sigma
        median, upper = 0.6744897501960817 * 2, 1.4096 * 2  # of |z|: .5, and the share below 1
        np.testing.assert_allclose(sigma[0], [median, median, 1.0])
        np.testing.assert_allclose(sigma[1], [upper, upper, np.e], rtol=1e-4)
        assert (sigma[2] > 0).all()

    def test_effects_are_the_standard_deviations_of_their_places(self):
        layout = laid("panels that differ")
        p = to_parameters(layout, places(layout), vectors_for(layout))
        names = [(slot.model, slot.name) for slot in layout.slots]
        # C: one call a scenario, so both effects are in its noise; D: one judge.
        for (t, place), name in {
            (0, 0): "scenario",
            (0, 1): "generation",
            (1, 0): "scenario",
            (1, 1): "generation",
            (2, 0): "scenario+generation",
            (3, 0): "scenario",
            (3, 1): "generation",
        }.items():
            np.testing.assert_allclose(p.effects[:, t, place], p.sigma[:, names.index((t, name))])
        assert not p.effects[:, 2, 1].any()

    @pytest.mark.parametrize("size", [2, 3, 7, 40])
    def test_the_basis_is_orthonormal_and_sums_to_zero(self, size):
        basis = zero_sum_basis(size)
        np.testing.assert_allclose(basis.T @ basis, np.eye(size - 1), atol=1e-12)
        np.testing.assert_allclose(basis.sum(axis=0), 0, atol=1e-12)

    @pytest.mark.parametrize("size", [2, 3, 7])
    def test_the_density_of_a_zero_sum_is_that_of_pymc(self, size):
        import pymc as pm

        values = np.random.default_rng(0).normal(size=(4, size))
        values -= values.mean(axis=1, keepdims=True)
        expected = [
            pm.logp(pm.ZeroSumNormal.dist(sigma=0.7, shape=size), v).eval(mode="FAST_COMPILE")
            for v in values
        ]
        np.testing.assert_allclose(zero_sum_log_density(values, 0.7), expected, atol=1e-10)


class TestRefusals:
    @pytest.mark.parametrize("name", ["linear", "linear-paper", "linear-judge-residual"])
    def test_a_linear_specification_has_no_levels(self, name):
        with pytest.raises(TypeError, match=rf"{name} is a model of the gaussian family"):
            lay_out_ordinal(leveled(crossed(4, 2, 3)), read_spec(name))

    @pytest.mark.parametrize("spec", [ORDINAL, PROBIT, SCALE], ids=lambda spec: spec.name)
    def test_an_ordinal_specification_is_no_linear_one(self, spec):
        with pytest.raises(TypeError, match=rf"{spec.name} is a model of the cumulative family"):
            lay_out(leveled(crossed(4, 2, 3)), spec)

    @pytest.mark.parametrize(
        ("table", "spec", "bins", "says"),
        [
            (lambda: table_of(crossed(6, 3, 3)), ORDINAL, None, r"continuous scores.*bins=10"),
            (lambda: leveled(crossed(4, 2, 3), low=5), ORDINAL, None, "nothing varies"),
            (lambda: leveled(crossed(4, 2, 3)), ORDINAL, 7, "bins=7 is not needed"),
            (
                lambda: leveled(crossed(4, 2, 3), levels=2),
                SCALE,
                None,
                "2 levels, so one threshold",
            ),
            (lambda: leveled(crossed(9, 2, 1)), SCALE, None, "there is one judge"),
            (lambda: leveled(crossed(1, 1, 3)), ORDINAL, None, "one each: no variance"),
            (
                lambda: leveled([(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 1)]),
                ORDINAL,
                None,
                "known only in combinations.*leave the model out",
            ),
        ],
        ids=[
            "continuous",
            "one level",
            "bins for levels",
            "scale with two levels",
            "scale with one judge",
            "nothing to estimate",
            "entangled",
        ],
    )
    def test_tables_that_can_not_carry_it(self, table, spec, bins, says):
        with pytest.raises(DesignError, match=says):
            lay_out_ordinal(table(), spec, bins=bins)

    @pytest.mark.parametrize("bins", [0, 1, 2.5, -3, 51, True, float("nan"), "10"])
    def test_bins_are_a_whole_number(self, bins):
        with pytest.raises(FitError, match="whole number from 2 to 50"):
            lay_out_ordinal(table_of(crossed(6, 3, 3)), ORDINAL, bins=bins)

    def test_terms_that_a_linear_model_can_not_tell_apart_may_be_here(self):
        """It has no interaction, so that is not entangled with anything."""
        rows = mixed(4, 3)
        assert lay_out_ordinal(leveled(rows), ORDINAL).names == ("scenario", "generation", "judge")
