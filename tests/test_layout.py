"""A specification laid on a table: parameters, their places in the likelihood, their priors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from panels import (
    crossed,
    cyclic,
    dense_log_marginal,
    frame_of,
    mixed,
    table_of,
    thinned,
)

from bayesjudge.errors import DesignError
from bayesjudge.layout import Slot, lay_out
from bayesjudge.marginal import gaussian
from bayesjudge.priors import Prior
from bayesjudge.readers import read_scores
from bayesjudge.specs import read_spec
from bayesjudge.terms import TERMS, carrier, parts

LINEAR, PAPER, BY_JUDGE = (
    read_spec(name) for name in ("linear", "linear-paper", "linear-judge-residual")
)
PLAIN = ("scenario", "generation", "judge", "scenario:judge", "generation:judge+residual")
DESIGNS = {
    "crossed": (crossed(4, 2, 3), PLAIN),
    "cells missing": (thinned(crossed(6, 3, 3), 0.7), PLAIN),
    "one generation": (
        crossed(4, 1, 3),
        ("scenario+generation", "judge", "scenario:judge+generation:judge+residual"),
    ),
    "one judge": (
        crossed(4, 2, 1),
        ("scenario+scenario:judge", "generation+generation:judge+residual"),
    ),
    "cyclic, one call": (
        cyclic(9, 1, 3),
        ("scenario+generation+scenario:judge+generation:judge+residual", "judge"),
    ),
    "cyclic, two calls": (
        cyclic(9, 2, 3),
        ("scenario", "generation+scenario:judge+generation:judge+residual", "judge"),
    ),
    "repeats": (crossed(3, 2, 2, repeats=2), TERMS),
    "repeats, one generation": (
        crossed(4, 1, 2, repeats=2),
        ("scenario+generation", "judge", "scenario:judge+generation:judge", "residual"),
    ),
    "one scenario": (crossed(1, 5, 3), ("generation", "judge", "generation:judge+residual")),
}


def halfnormal(sigma):
    return Prior("HalfNormal", {"sigma": pytest.approx(sigma)})


class TestSlots:
    @pytest.mark.parametrize("name", DESIGNS)
    def test_one_for_each_component_or_sum(self, name):
        rows, names = DESIGNS[name]
        layout = lay_out(table_of(rows), LINEAR)
        assert layout.slots == tuple(Slot(name, 0) for name in names)
        assert layout.names == names
        assert set(layout.priors) == set(names)
        assert not layout.by_judge

    def test_a_model_without_interactions_has_none(self):
        layout = lay_out(table_of(crossed(4, 2, 3)), PAPER)
        assert layout.names == ("scenario", "generation", "judge", "residual")

    def test_evaluated_models_have_their_own_in_turn(self):
        rows = {"A": crossed(4, 2, 3), "B": crossed(4, 1, 3), "C": crossed(4, 2, 1)}
        layout = lay_out(table_of(rows), LINEAR)
        sums = [DESIGNS[name][1] for name in ("crossed", "one generation", "one judge")]
        expected = [Slot(name, t) for t, names in enumerate(sums) for name in names]
        assert list(layout.slots) == expected
        assert layout.models == ("A", "B", "C")
        # scenario before scenario+generation before what starts with a later term
        assert layout.names[:3] == ("scenario", "scenario+generation", "scenario+scenario:judge")
        assert len(layout.names) == len(set(layout.names)) == len({s.name for s in expected})

    def test_each_judge_has_a_residual_when_asked_for(self):
        layout = lay_out(table_of(crossed(4, 2, 3)), BY_JUDGE)
        residual = [Slot("generation:judge+residual", 0, judge) for judge in range(3)]
        assert list(layout.slots) == [Slot(name, 0) for name in PLAIN[:-1]] + residual
        assert layout.by_judge
        assert layout.names == PLAIN

    def test_residuals_of_judges_point_into_the_whole_panel(self):
        rows = crossed(5, 2, 4)
        layout = lay_out(
            table_of({"A": rows, "B": [row for row in rows if row[2] in (1, 3)]}), BY_JUDGE
        )
        of_b = [slot for slot in layout.slots if slot.model == 1 and slot.judge is not None]
        assert [slot.judge for slot in of_b] == [1, 3]
        np.testing.assert_array_equal(layout.cells[1].judge_ids, [1, 3])


class TestRoles:
    @pytest.mark.parametrize("spec", [LINEAR, BY_JUDGE], ids=["common", "by judge"])
    @pytest.mark.parametrize("name", DESIGNS)
    def test_each_slot_stands_where_its_carrier_does_and_nowhere_else(self, name, spec):
        layout = lay_out(table_of(DESIGNS[name][0]), spec)
        K = len(layout.judges)
        roles = layout.roles()
        assert roles.shape == (1, 5 + K, len(layout.slots))
        for k, slot in enumerate(layout.slots):
            place = TERMS.index(carrier(parts(slot.name)))
            if place < 5:
                expected = [place]
            elif slot.judge is None:
                expected = list(range(5, 5 + K))
            else:
                expected = [5 + slot.judge]
            assert np.flatnonzero(roles[0, :, k]).tolist() == expected
        assert set(np.unique(roles)) == {0.0, 1.0}
        # no place is taken twice, and every judge has a residual
        assert roles.sum(axis=2).max() == 1
        assert (roles[0, 5:].sum(axis=1) == 1).all()

    def test_slots_of_one_evaluated_model_do_not_reach_another(self):
        rows = crossed(5, 2, 4)
        layout = lay_out(
            table_of({"A": rows, "B": [row for row in rows if row[2] in (1, 3)]}), BY_JUDGE
        )
        roles = layout.roles()
        for k, slot in enumerate(layout.slots):
            assert not roles[1 - slot.model, :, k].any()
        assert roles[1, 5:].sum(axis=1).tolist() == [0, 1, 0, 1]

    @pytest.mark.parametrize("name", DESIGNS)
    def test_the_likelihood_of_the_carriers_is_that_of_any_split_of_the_sums(self, name):
        """Whatever part of a sum each of its terms has, the likelihood is that of the total."""
        rows, names = DESIGNS[name]
        layout = lay_out(table_of(rows), LINEAR)
        cells, K = layout.cells[0], len(layout.judges)
        rng = np.random.default_rng(12)
        total = dict(zip(names, rng.uniform(0.5, 1.5, len(names)), strict=True))
        placed = layout.roles()[0] @ np.array([total[slot.name] for slot in layout.slots])
        by_layout = dense(cells, dict(zip(TERMS[:5], placed[:5], strict=True)), placed[5:])
        # The zero-sum interaction has no place in a split: its free form is not its own.
        split = dict.fromkeys(TERMS, 0.0)
        for sum_of, value in total.items():
            terms = [t for t in parts(sum_of) if t != "scenario:judge" or sum_of == t]
            for term, share in zip(terms, rng.dirichlet(np.ones(len(terms))), strict=True):
                split[term] = value * share
        assert by_layout == pytest.approx(
            dense(cells, split, np.full(K, split["residual"])), rel=1e-9
        )


def dense(cells, by_term, residual):
    names = {"scenario:judge": "interaction", "generation:judge": "cell"}
    values = {names.get(term, term): value for term, value in by_term.items()}
    v = gaussian.Variances(**{**values, "residual": np.asarray(residual)[cells.judge_ids]})
    return dense_log_marginal(cells, v, 5.0, 2.5)


class TestPriors:
    def test_units_of_the_range_become_points(self):
        layout = lay_out(table_of(crossed(4, 2, 3), scale=(-20, 70), outside="keep"), LINEAR)
        assert layout.mean_prior == Prior("Normal", pytest.approx({"mu": 25.0, "sigma": 22.5}))
        assert layout.priors["scenario"] == halfnormal(90 / 8)
        assert layout.priors["judge"] == halfnormal(90 / 8)
        assert layout.priors["generation:judge+residual"] == halfnormal(90 / 5)

    def test_points_and_units_of_the_range_agree(self):
        table = table_of(crossed(4, 2, 3), scale=(2, 10), outside="keep")
        in_points = replace(
            LINEAR,
            unit="score",
            mean=Prior("Normal", {"mu": 6.0, "sigma": 2.0}),
            sd={term: prior.scaled(8.0) for term, prior in LINEAR.sd.items()},
        )
        one, other = lay_out(table, LINEAR), lay_out(table, in_points)
        assert one.priors == other.priors
        assert one.mean_prior == other.mean_prior

    def test_a_sum_takes_the_widest_prior_of_its_terms(self):
        wide = replace(LINEAR, sd={**LINEAR.sd, "generation": Prior("Exponential", {"scale": 1.0})})
        layout = lay_out(table_of(crossed(4, 1, 3)), wide)
        assert layout.priors["scenario+generation"] == Prior("Exponential", {"scale": 10.0})
        assert layout.priors["scenario:judge+generation:judge+residual"] == halfnormal(2.0)

    @pytest.mark.parametrize("factor", [0.5, 2.0])
    def test_one_number_widens_all_standard_deviations_but_not_the_mean(self, factor):
        table = table_of(crossed(4, 2, 3))
        one, other = lay_out(table, LINEAR), lay_out(table, LINEAR, prior_scale=factor)
        assert other.priors == {name: p.scaled(factor) for name, p in one.priors.items()}
        assert other.mean_prior == one.mean_prior

    def test_the_same_scores_on_another_scale_have_the_same_priors_in_its_units(self):
        frame = frame_of(crossed(4, 2, 3))
        one = lay_out(read_scores(frame, scale=(0, 10)), LINEAR)
        moved = frame.assign(score=3 * frame["score"] + 7)
        other = lay_out(read_scores(moved, scale=(7, 37)), LINEAR)
        for name, prior in one.priors.items():
            assert other.priors[name].kwargs == pytest.approx(prior.scaled(3).kwargs)
        expected = one.mean_prior.scaled(3).shifted(7)
        assert other.mean_prior.kwargs == pytest.approx(expected.kwargs)


class TestStatistics:
    def test_balanced_models_come_with_strata_and_others_without(self):
        rows = {"A": crossed(4, 2, 3), "B": thinned(crossed(6, 3, 3), 0.7), "C": cyclic(9, 1, 3)}
        layout = lay_out(table_of(rows), LINEAR)
        assert [table is not None for table in layout.strata] == [True, False, False]
        assert [int(p.n_calls) for p in layout.patterns] == [len(own) for own in rows.values()]

    def test_residuals_by_judge_have_no_strata(self):
        assert lay_out(table_of(crossed(4, 2, 3)), BY_JUDGE).strata == (None,)

    def test_the_order_of_rows_changes_nothing(self):
        frame = frame_of({"A": crossed(4, 2, 3), "B": thinned(crossed(6, 3, 3), 0.7)})
        one = lay_out(read_scores(frame, scale=(0, 10)), LINEAR)
        shuffled = frame.sample(frac=1, random_state=3)
        other = lay_out(read_scores(shuffled, scale=(0, 10)), LINEAR)
        assert one.slots == other.slots
        np.testing.assert_array_equal(one.patterns[1].group_sum, other.patterns[1].group_sum)
        assert one.strata[0].ss == other.strata[0].ss


class TestRefused:
    def test_a_scale_without_extent(self):
        frame = frame_of(crossed(4, 2, 3)).assign(score=5.0)
        with pytest.raises(DesignError, match=r"runs from 5 to 5.*scale=\(low, high\) or --scale"):
            lay_out(read_scores(frame), LINEAR)

    @pytest.mark.parametrize(
        ("score", "says"),
        [
            (lambda f: 5.0, "all its 24 scores are 5"),
            (lambda f: f["judge"].str[1:].astype(float), "reproduced exactly by scenario, gen"),
            (
                lambda f: f["scenario"].str[1:].astype(float) * f["judge"].str[1:].astype(float),
                "reproduced",
            ),
        ],
        ids=["constant", "judge alone", "scenario times judge"],
    )
    @pytest.mark.parametrize("kept", [1.0, 0.8], ids=["balanced", "unbalanced"])
    @pytest.mark.parametrize("unit", ["range", "score"])
    def test_scores_without_noise_have_no_posterior(self, score, says, kept, unit):
        frame = frame_of(crossed(4, 2, 3))
        frame["score"] = score(frame)
        frame = frame if kept == 1 else frame.drop(index=[1, 7, 13, 20])
        scores = read_scores(frame, scale=(0, 10))
        says = says if kept == 1 else says.replace("24", "20")
        with pytest.raises(DesignError, match=says):
            lay_out(scores, replace(LINEAR, unit=unit))

    def test_a_saturated_table_is_not_taken_for_one_without_noise(self):
        # In each scenario a second generation was scored by one of the two judges: as many
        # levels as calls, yet all variances are known from how calls vary together.
        rows = [(i, j, k) for i in range(8) for j, k in ((0, 0), (0, 1), (1, 0))]
        frame = frame_of(rows).assign(score=np.random.default_rng(0).normal(5, 1, len(rows)))
        assert lay_out(read_scores(frame, scale=(0, 10)), LINEAR).names[-1].endswith("residual")

    @pytest.mark.parametrize("rows", [crossed(1, 1, 1), crossed(1, 1, 4), [(0, 0, 0), (1, 0, 1)]])
    @pytest.mark.parametrize("spec", [LINEAR, PAPER, BY_JUDGE], ids=lambda spec: spec.name)
    def test_one_call_a_judge_leaves_no_residual(self, rows, spec):
        with pytest.raises(DesignError, match="one each: no variance can be estimated") as refusal:
            lay_out(table_of(rows), spec)
        text = str(refusal.value)
        assert "Model 'A'" in text
        assert "a second generation or repeated calls" in text
        assert "1 scores" not in text
        assert "1 judges" not in text

    def test_the_evaluated_model_at_fault_is_named(self):
        with pytest.raises(DesignError, match="Model 'B' has 3 scores from 3 judges"):
            lay_out(table_of({"A": crossed(4, 2, 3), "B": crossed(1, 1, 3)}), LINEAR)

    def test_two_calls_of_one_judge_are_enough(self):
        assert lay_out(table_of(crossed(2, 1, 1)), LINEAR).names == (
            "scenario+generation+scenario:judge+generation:judge+residual",
        )

    def test_entangled_terms_with_the_way_out(self):
        table = table_of(mixed(4, 3))
        with pytest.raises(DesignError, match=r"known only in combinations.*model='linear-paper'"):
            lay_out(table, LINEAR)
        assert lay_out(table, PAPER).names == ("scenario", "generation", "judge", "residual")

    @pytest.mark.parametrize("spec", [LINEAR, PAPER], ids=lambda spec: spec.name)
    def test_a_way_out_that_does_not_help_is_not_named(self, spec):
        table = table_of([(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 1)])
        with pytest.raises(DesignError, match="known only in combinations") as refusal:
            lay_out(table, spec)
        assert "linear-paper" not in str(refusal.value)
        assert "leave the model out" in str(refusal.value)


def test_labels_are_those_of_the_table():
    frame = pd.concat([frame_of(crossed(3, 2, 3)), frame_of(cyclic(6, 2, 3), model="B")])
    table = read_scores(frame, scale=(0, 10))
    layout = lay_out(table, LINEAR)
    assert (layout.models, layout.scenarios, layout.judges) == (
        table.models,
        table.scenarios,
        table.judges,
    )
    assert layout.spec is LINEAR
