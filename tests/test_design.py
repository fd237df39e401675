"""The audit of a table: its counts, what it says of each model, and how it says it."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from panels import cells_of, crossed, cyclic, frame_of, mixed, simulate, table_of, thinned

from bayesjudge import examples
from bayesjudge.design.cells import Balance, balance
from bayesjudge.design.check import check
from bayesjudge.design.connect import blocks, offset_errors
from bayesjudge.design.wording import identified
from bayesjudge.readers import read_scores
from bayesjudge.terms import TERMS

TREC = Path(__file__).parents[2] / "shared" / "data" / "llmjudge_trec_wide.csv"


def warning_with(design, *texts):
    """The one warning that has all of the texts."""
    found = [warning for warning in design.warnings if all(text in warning for text in texts)]
    assert len(found) == 1, design.warnings
    return found[0]


def own(*alone, absent=(), **sums):
    """What is known of each term: True alone, False absent, otherwise the name of its sum."""
    known = dict.fromkeys(alone, True) | dict.fromkeys(absent, False)
    for name in sums.values():
        known |= dict.fromkeys(name.split("+"), name)
    assert known.keys() == set(TERMS)
    return known


GJ = "generation:judge+residual"
SJ = "scenario:judge+generation:judge+residual"
ALL = "scenario+generation+scenario:judge+generation:judge+residual"
TABLES = {
    "crossed": (
        crossed(4, 2, 3),
        own("scenario", "generation", "judge", "scenario:judge", a=GJ),
    ),
    "crossed, cells missing": (
        thinned(crossed(6, 3, 3), 0.8),
        own("scenario", "generation", "judge", "scenario:judge", a=GJ),
    ),
    "one generation": (crossed(5, 1, 3), own("judge", a="scenario+generation", b=SJ)),
    "one judge": (
        crossed(4, 3, 1),
        own(absent=["judge"], a="scenario+scenario:judge", b=f"generation+{GJ}"),
    ),
    "one judge, one generation": (crossed(6, 1, 1), own(absent=["judge"], a=ALL)),
    "one scenario": (
        crossed(1, 5, 3),
        own("generation", "judge", absent=["scenario", "scenario:judge"], a=GJ),
    ),
    "one scenario, one judge": (
        crossed(1, 5, 1),
        own(absent=["scenario", "judge", "scenario:judge"], a=f"generation+{GJ}"),
    ),
    "a single call": (crossed(1, 1, 1), own(absent=TERMS)),
    "one call a judge": (
        crossed(1, 1, 4),
        own("judge", absent=[term for term in TERMS if term != "judge"]),
    ),
    "repeats": (crossed(3, 2, 2, repeats=2), own(*TERMS)),
    "repeats, one generation": (
        crossed(4, 1, 2, repeats=2),
        own("judge", "residual", a="scenario+generation", b="scenario:judge+generation:judge"),
    ),
    "repeats of one cell a judge": (
        crossed(1, 1, 2, repeats=3),
        own(
            "judge",
            "residual",
            absent=["scenario", "generation", "scenario:judge", "generation:judge"],
        ),
    ),
    "cyclic, one call": (cyclic(9, 1, 3), own("judge", a=ALL)),
    "cyclic, two calls of three": (
        cyclic(9, 2, 3),
        own("scenario", "judge", a=f"generation+{SJ}"),
    ),
    "cyclic, as many calls as judges": (
        cyclic(6, 3, 3),
        own("scenario", "judge", a=f"generation+{SJ}"),
    ),
    "cyclic, more calls than judges": (
        cyclic(6, 5, 3),
        own("scenario", "judge", "scenario:judge", a=f"generation+{GJ}"),
    ),
    "each judge its own scenario": (
        [(k, j, k) for k in range(3) for j in range(4)],
        own("judge", absent=["scenario", "scenario:judge"], a=f"generation+{GJ}"),
    ),
    "two kinds of scenarios": (mixed(4, 3), own("judge", a=ALL)),
}


class TestIdentifiable:
    @pytest.mark.parametrize("name", TABLES)
    def test_each_table_has_exactly_its_sums(self, name):
        rows, known = TABLES[name]
        design = check(table_of(rows))
        assert dict(design.identifiable) == known
        assert dict(design.by_model["A"]) == known
        assert tuple(design.identifiable) == TERMS

    @pytest.mark.parametrize("name", TABLES)
    def test_the_text_explains_each_sum_by_what_is_true_of_the_table(self, name):
        rows, known = TABLES[name]
        design = check(table_of(rows))
        told = identified(design)
        assert set(told) == {t if isinstance(v, bool) else v for t, v in known.items()}
        cells = cells_of(rows, np.zeros(len(rows)))
        sj = set(zip(cells.scenario, cells.judge, strict=True))
        gj = set(zip(cells.generation, cells.judge, strict=True))
        true = {
            "no call is repeated": len(gj) == len(rows),
            "each scenario has one generation": cells.n_generations == cells.n_scenarios,
            "no generation was scored by two judges": len(gj) == cells.n_generations,
            "no judge saw two generations of a scenario": len(gj) == len(sj),
            "no scenario was scored by two judges": len(sj) == cells.n_scenarios,
        }
        for text in told.values():
            assert all(holds for reason, holds in true.items() if reason in text), text

    def test_models_of_different_designs_join_to_the_coarsest(self):
        design = check(
            table_of({"A": crossed(4, 2, 3), "B": crossed(4, 1, 3), "C": cyclic(9, 4, 3)})
        )
        assert dict(design.by_model["A"]) == TABLES["crossed"][1]
        assert dict(design.by_model["B"]) == TABLES["one generation"][1]
        assert design.by_model["C"]["scenario:judge"] is True
        assert dict(design.identifiable) == own("judge", a=ALL)

    def test_joins_carry_over_from_model_to_model(self):
        design = check(table_of({"A": cyclic(9, 2, 3), "B": crossed(4, 1, 3)}))
        assert design.identifiable["scenario"] == ALL
        assert design.by_model["A"]["scenario"] is True

    def test_what_one_model_can_not_show_is_not_known_for_all(self):
        design = check(table_of({"A": crossed(4, 2, 2), "B": crossed(1, 2, 2)}))
        assert design.identifiable["scenario"] is False
        assert design.by_model["A"]["scenario"] is True
        assert design.by_model["B"]["scenario"] is False

    def test_the_text_tells_models_of_different_designs_apart(self):
        text = str(
            check(table_of({"A": crossed(4, 2, 3), "B": crossed(4, 1, 3), "C": crossed(9, 2, 3)}))
        )
        assert "What the data can tell apart in A, C:" in text
        assert "What the data can tell apart in B:" in text
        told = identified(check(table_of({"A": crossed(4, 2, 3), "B": crossed(4, 1, 3)})))
        assert told["scenario+generation"] == "one sum: each scenario has one generation (B)"


class TestCounts:
    def test_a_balanced_table(self):
        design = check(table_of(crossed(4, 2, 3)))
        assert design.models.loc["A"].to_dict() == {
            "scenarios": 4,
            "generations": 8,
            "judges": 3,
            "calls": 24,
            "missing": 0,
            "generations_per_scenario": "2",
            "calls_per_cell": "1",
            "cells_empty": 0,
            "balanced": True,
            "blocks": 1,
        }
        assert design.balanced
        assert design.connected
        assert design.details[0].balance == Balance(4, 2, 3, 1)

    def test_a_ragged_table(self):
        rows = [(0, 0, 0), (0, 0, 1), (0, 0, 1), (0, 1, 0), (0, 2, 2), (1, 0, 0)]
        row = check(table_of(rows)).models.loc["A"]
        assert row["generations_per_scenario"] == "1-3"
        assert row["calls_per_cell"] == "1-2"
        assert row["cells_empty"] == 4 * 3 - 5
        assert not row["balanced"]

    @pytest.mark.parametrize(
        ("rows", "sizes"),
        [
            (crossed(4, 2, 3), Balance(4, 2, 3, 1)),
            (crossed(4, 2, 3, repeats=3), Balance(4, 2, 3, 3)),
            (crossed(1, 1, 1), Balance(1, 1, 1, 1)),
            (crossed(4, 2, 3)[:-1], None),
            ([*crossed(4, 2, 3), (0, 0, 0)], None),
            ([*crossed(4, 2, 3), *crossed(1, 3, 3)[6:]], None),
            (cyclic(6, 2, 3), None),
            # as many calls as a balanced table would have, but not in the same cells
            ([*crossed(2, 2, 2)[:-1], (0, 0, 0)], None),
        ],
    )
    def test_balance(self, rows, sizes):
        assert balance(cells_of(rows, np.zeros(len(rows)))) == sizes

    def test_missing_scores_are_counted_by_judge_and_bounded(self):
        frame = frame_of(crossed(5, 2, 2))
        frame.loc[[0, 2, 3], "score"] = np.nan
        design = check(read_scores(frame, scale=(0, 10)))
        assert design.models.loc["A", "missing"] == 3
        assert design.models.loc["A", "calls"] == 17
        assert design.calls.loc[("j0", "A"), "missing"] == 2
        text = warning_with(design, "Missing scores: 3 (j0 on A 2 of 10, j1 on A 1 of 10)")
        low, high = design.bounds.loc["A", ["low", "high"]]
        assert high - low == pytest.approx(10 * (2 / 10 + 1 / 10) / 2)
        assert f"between {low:.4g} and {high:.4g}" in text
        assert "missing at random" in text

    def test_a_judge_and_a_model_without_any_score_are_named(self):
        frame = frame_of({"A": crossed(5, 2, 3), "B": crossed(2, 1, 1), "C": crossed(2, 1, 1)})
        frame.loc[frame["judge"] == "j2", "score"] = np.nan
        frame.loc[frame["model"] != "A", "score"] = np.nan
        design = check(read_scores(frame, scale=(0, 10)))
        assert list(design.models.index) == ["A"]
        warning_with(design, "All calls of j2 are missing: it is not in the panel")
        warning_with(design, "All calls on B, C are missing: they are left out")

    @pytest.mark.parametrize("name", ["crossed", "one generation", "one judge", "repeats"])
    def test_degrees_of_freedom_of_a_balanced_table_are_those_of_its_strata(self, name):
        rows, _ = TABLES[name]
        free = check(table_of(rows)).details[0].freedom
        n, m, K, r = (
            getattr(balance(cells_of(rows, np.zeros(len(rows)))), f)
            for f in ("scenarios", "generations", "judges", "repeats")
        )
        df = {
            "scenario": n - 1,
            "generation": n * (m - 1),
            "scenario:judge": (n - 1) * (K - 1),
            "generation:judge": n * (m - 1) * (K - 1),
            "residual": n * m * K * (r - 1),
        }
        assert free == {name: sum(df[term] for term in name.split("+")) for name in free}

    @pytest.mark.parametrize(("calls", "K"), [(1, 3), (2, 3), (3, 3)])
    def test_degrees_of_freedom_of_a_rotation_are_those_left_by_judges(self, calls, K):
        n = 12
        free = check(table_of(cyclic(n, calls, K))).details[0].freedom
        assert sum(free.values()) == n * calls - K


class TestConnectedness:
    def test_blocks_are_named_largest_first(self):
        rows = [(i, 0, k) for i in range(3) for k in (0, 1)] + [(i, 0, 2) for i in range(3, 8)]
        found = blocks(cells_of(rows, np.zeros(len(rows))))
        assert [block.judges for block in found] == [(2,), (0, 1)]
        assert [block.scenarios for block in found] == [(3, 4, 5, 6, 7), (0, 1, 2)]
        text = warning_with(check(table_of(rows)), "2 groups that share no scenario")
        assert "({j2} on 5 scenarios; {j0, j1} on 3 scenarios)" in text
        assert "the standard error of j2 minus j0 is about" in text
        assert "randomly assigned" in text

    def test_one_shared_scenario_connects(self):
        rows = [*cyclic(9, 1, 3), (0, 0, 1), (0, 0, 2)]
        design = check(table_of(rows))
        assert design.connected
        assert not any("share no scenario" in warning for warning in design.warnings)

    def test_offset_error_is_that_of_a_simulated_rotation(self):
        n, K, runs = 60, 3, 4000
        rng = np.random.default_rng(3)
        rows = cyclic(n, 1, K)
        cells = cells_of(rows, np.zeros(n))
        gamma = np.array([0.5, 0.0, -0.5])
        # scenario 0.8, generation 0.3, scenario:judge 0.2, residual 0.5: all in every call
        scores = gamma[cells.judge] + rng.normal(0, np.sqrt(0.8 + 0.3 + 0.2 + 0.5), (runs, n))
        means = np.stack([scores[:, cells.judge == k].mean(axis=1) for k in range(K)])
        said = [offset_errors(replace(cells, score=score)) for score in scores[:500]]
        said = np.sqrt(np.mean(np.square(said), axis=0))
        for a, b in [(0, 1), (0, 2), (1, 2)]:
            assert np.hypot(said[a], said[b]) == pytest.approx(
                np.std(means[a] - means[b]), rel=0.05
            )

    def test_offset_error_holds_the_scenario_variance_shared_by_the_calls_of_a_scenario(self):
        # five calls a scenario: the scenario effect does not average out within it
        rows = [(i, j, i % 2) for i in range(40) for j in range(5)]
        rng = np.random.default_rng(4)
        runs = np.stack([rng.normal(0, 2, 40)[np.repeat(np.arange(40), 5)] for _ in range(1000)])
        cells = cells_of(rows, np.zeros(200))
        gaps = runs[:, cells.judge == 0].mean(axis=1) - runs[:, cells.judge == 1].mean(axis=1)
        said = [np.hypot(*offset_errors(replace(cells, score=run))) for run in runs]
        assert np.sqrt(np.mean(np.square(said))) == pytest.approx(gaps.std(), rel=0.06)

    def test_no_error_is_given_for_a_judge_with_one_scenario(self):
        design = check(table_of([(i, 0, min(i, 2)) for i in range(6)]))
        text = warning_with(design, "3 groups")
        assert "no standard error can be given for a judge with one scenario" in text
        assert "{j0} on 1 scenario;" in text


def planted(noise, K=5, n=60, seed=5):
    """A panel, and the scores of one judge again with noise."""
    frame = simulate(
        n, 2, K, scenario=1.0, generation=0.3, judge=0.3, interaction=0.3, residual=0.5, seed=seed
    )
    again = frame[frame["judge"] == "judge 1"].assign(judge="again")
    again["score"] += np.random.default_rng(6).normal(0, noise, len(again))
    return pd.concat([frame, again])


class TestNearDuplicates:
    @pytest.mark.parametrize("noise", [0.0, 0.05, 0.25])
    def test_a_copy_and_a_copy_with_noise_are_found(self, noise):
        design = check(read_scores(planted(noise), scale=(0, 10), outside="keep"))
        pairs = design.near_duplicates
        assert pairs[["judge_a", "judge_b"]].to_numpy().tolist() == [["again", "judge 1"]]
        assert pairs["common"].item() == 120
        text = warning_with(design, "2 judges say nearly the same: again, judge 1")
        assert "weigh 2 times in the panel mean" in text
        assert "keep one of them" in text

    def test_a_copy_is_found_among_missing_scores_and_several_models(self):
        frame = pd.concat([planted(0.1).assign(model=name) for name in "AB"])
        frame = frame.sample(frac=0.7, random_state=1)
        pairs = check(read_scores(frame, scale=(0, 10), outside="keep")).near_duplicates
        assert pairs[["judge_a", "judge_b"]].to_numpy().tolist() == [["again", "judge 1"]]

    def test_three_of_a_kind_are_one_warning(self):
        frame = planted(0.05)
        third = frame[frame["judge"] == "again"].assign(judge="and again")
        design = check(read_scores(pd.concat([frame, third]), scale=(0, 10), outside="keep"))
        assert len(design.near_duplicates) == 3
        warning_with(design, "3 judges say nearly the same: again, and again, judge 1")

    @pytest.mark.parametrize("name", examples.NAMES)
    def test_none_in_the_bundled_examples(self, name):
        assert check(examples.load(name)).near_duplicates.empty

    def test_independent_judges_at_the_ceiling_are_not_accused(self):
        rng = np.random.default_rng(7)
        frame = frame_of(crossed(100, 2, 4)).assign(score=lambda f: rng.random(len(f)) < 0.97)
        assert check(read_scores(frame, levels=[0, 1])).near_duplicates.empty

    def test_judges_who_say_nothing_are_not_accused(self):
        frame = frame_of(crossed(50, 2, 5))
        for judge, constant in (("j0", 9.0), ("j1", 9.0), ("j2", 8.0)):
            frame.loc[frame["judge"] == judge, "score"] = constant
        assert check(read_scores(frame, scale=(0, 10))).near_duplicates.empty

    def test_little_in_common_says_nothing(self):
        frame = planted(0.0, n=4)
        assert check(read_scores(frame, scale=(0, 10), outside="keep")).near_duplicates.empty

    @pytest.mark.skipif(not TREC.exists(), reason="needs ../shared/data/llmjudge_trec_wide.csv")
    def test_the_prompt_variants_among_33_real_judges_are_found(self):
        judges = TREC.read_text(encoding="utf-8").splitlines()[0].split(",")[2:]
        assert len(judges) == 33
        table = read_scores(
            TREC,
            columns={"scenario": "query", "generation": "passage"},
            judges=judges,
            model_name="TREC",
            levels=[0, 1, 2, 3],
            outside="missing",
        )
        start = time.perf_counter()
        design = check(table)
        assert time.perf_counter() - start < 4
        pairs = set(
            design.near_duplicates[["judge_a", "judge_b"]].itertuples(index=False, name=None)
        )
        variants = {
            (f"NISTRetrieval-{kind}{a}", f"NISTRetrieval-{kind}{b}")
            for kind in ("instruct", "reason")
            for a, b in [(0, 1), (0, 2), (1, 2)]
        }
        assert variants | {("willia-umbrela2", "willia-umbrela3")} <= pairs
        assert all(
            a.split("-")[0] == b.split("-")[0]
            for a, b in pairs
            - {
                ("h2oloo-zeroshot1", "willia-umbrela1")  # the same published prompt
            }
        )
        assert design.models.loc["TREC", "missing"] == 3
        assert design.identifiable[("residual")] == GJ


class TestSubsets:
    def test_a_model_scored_by_fewer_judges_is_named_with_those_it_lacks(self):
        rows = crossed(10, 2, 3)
        design = check(table_of({"A": rows, "B": [row for row in rows if row[2] != 1]}))
        assert list(design.models["judges"]) == [3, 2]
        text = warning_with(design, "B was scored by 2 of 3 judges (not by j1)")
        assert "judge subset only" in text
        assert "add the missing calls" in text
        assert design.details[1].judges == ("j0", "j2")

    def test_models_that_lack_the_same_judges_are_named_together(self):
        rows = crossed(10, 2, 3)
        fewer = [row for row in rows if row[2] != 1]
        design = check(table_of({"A": rows, "B": fewer, "C": fewer}))
        warning_with(design, "B, C were scored by 2 of 3 judges", "Their panel means are")

    def test_blocks_point_into_the_whole_table(self):
        rows = {"A": crossed(4, 1, 4), "B": [(i, 0, 2 + i % 2) for i in range(4, 8)]}
        design = check(table_of(rows))
        assert [block.judges for block in design.details[1].blocks] == [(2,), (3,)]
        warning_with(design, "B: The judges fall into 2 groups", "{j2} on 2 scenarios")


class TestWarnings:
    def test_a_good_table_has_none(self):
        design = check(table_of(crossed(25, 2, 4)))
        assert design.warnings == ()
        assert "Warnings" not in str(design)

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            (crossed(1, 25, 3), ["There is one scenario", "Add scenarios"]),
            (crossed(25, 25, 1), ["There is one judge", "Add a second judge"]),
            (crossed(1, 1, 4), ["no degrees of freedom for a residual", "no model can be fitted"]),
            (crossed(1, 1, 4, repeats=9), ["one generation only", "Add generations"]),
            (
                [(k, j, k) for k in range(3) for j in range(20)],
                ["Each judge scored one scenario only", "Let judges share scenarios"],
            ),
            (mixed(20, 3), ["known only in combinations", "Fit model linear-paper"]),
            (
                [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 1)],
                ["known only in combinations", "Let a few scenarios be scored by two judges"],
            ),
        ],
    )
    def test_each_says_what_and_what_to_do(self, rows, said):
        warning_with(check(table_of(rows)), *said)

    def test_one_thin_variance_and_several_read_as_english(self):
        text = warning_with(check(table_of(crossed(10, 9, 4))), "Few degrees of freedom")
        assert "scenario (9 df): this variance will lean on its prior." in text
        text = warning_with(check(table_of(crossed(10, 2, 3))), "Few degrees of freedom")
        assert "scenario (9 df), generation (10 df)" in text
        assert "these variances will lean on their priors" in text
        assert "--prior-scale" in text

    def test_what_holds_for_some_models_names_them(self):
        design = check(
            table_of({"A": crossed(25, 2, 4), "B": crossed(10, 9, 4), "C": crossed(15, 9, 4)})
        )
        warning_with(design, "B, C: Few degrees of freedom for scenario (9 to 14 df)")

    def test_long_lists_are_cut(self):
        frame = frame_of({f"m{t}": thinned(crossed(10, 1, 30), 0.1, t) for t in range(30)})
        design = check(read_scores(frame, scale=(0, 10)))
        assert len(design.warnings) <= 15
        assert max(map(len, design.warnings)) < 900
        assert any("more warnings like the last" in text for text in design.warnings)

    def test_no_warning_has_a_plural_of_one(self):
        for rows, _ in TABLES.values():
            text = str(check(table_of(rows)))
            for wrong in ("1 judges", "1 scenarios", "1 generations", "(1 scores", "1 groups"):
                assert f" {wrong}" not in text


class TestText:
    def test_reads_as_a_table_with_what_is_known_below(self):
        text = str(check(table_of(crossed(4, 1, 3))))
        assert "scenario+generation" in text
        assert "one sum: each scenario has one generation" in text
        assert "judge                                     identified" in text
        assert "calls" in text.splitlines()[0]
        assert max(map(len, text.splitlines()[:4])) < 150

    def test_notes_of_the_reading_are_repeated(self):
        frame = frame_of(crossed(4, 2, 3))
        assert "No scale was declared" in str(check(read_scores(frame)))

    def test_many_models_are_cut(self):
        text = str(check(table_of({f"m{t}": crossed(2, 1, 2) for t in range(60)})))
        assert len(text.splitlines()) < 70
        assert "..." in text


class TestInvariance:
    def rows(self):
        return {"A": thinned(crossed(8, 3, 4), 0.7), "B": cyclic(9, 2, 4), "C": crossed(3, 1, 2)}

    def same(self, one, other):
        pd.testing.assert_frame_equal(one.models, other.models)
        pd.testing.assert_frame_equal(one.near_duplicates, other.near_duplicates)
        assert one.identifiable == other.identifiable
        assert one.by_model == other.by_model

    def test_the_order_of_rows_changes_nothing(self):
        frame = frame_of(self.rows())
        one = check(read_scores(frame, scale=(0, 10)))
        other = check(read_scores(frame.sample(frac=1, random_state=2), scale=(0, 10)))
        self.same(one, other)
        assert str(one) == str(other)

    def test_other_labels_change_only_labels(self):
        frame = frame_of(self.rows())
        renamed = frame.assign(
            scenario=frame["scenario"].map(lambda s: f"x{9 - int(s[1:])}"),
            generation=frame["generation"].map(lambda g: f"{5 - int(g[1:])}"),
            judge=frame["judge"].map(lambda j: "dcba"[int(j[1:])]),
        )
        one = check(read_scores(frame, scale=(0, 10)))
        other = check(read_scores(renamed, scale=(0, 10)))
        self.same(one, other)
        np.testing.assert_allclose(
            np.sort(one.details[1].offset_errors), np.sort(other.details[1].offset_errors)
        )


class TestSize:
    def test_50_models_by_50_judges(self):
        frame = pd.MultiIndex.from_product(
            [range(50), range(10), range(2), range(50)],
            names=["model", "scenario", "generation", "judge"],
        ).to_frame(index=False)
        frame["score"] = np.random.default_rng(8).random(len(frame))
        table = read_scores(frame, scale=(0, 1))
        start = time.perf_counter()
        text = str(check(table))
        assert time.perf_counter() - start < 5
        assert len(text) < 10_000

    @pytest.mark.parametrize("scenarios", [40, 10**6])
    def test_a_hundred_thousand_judges_end_in_seconds(self, scenarios):
        N = 100_000
        rng = np.random.default_rng(9)
        frame = pd.DataFrame(
            {
                "model": "A",
                "scenario": (
                    np.tile(np.arange(scenarios), N)[:N] if scenarios < N else rng.permutation(N)
                ),
                "generation": 1,
                "judge": np.arange(N),
                "score": rng.random(N),
            }
        )
        table = read_scores(frame, scale=(0, 1))
        start = time.perf_counter()
        text = str(check(table))
        assert time.perf_counter() - start < 15
        assert len(text) < 3_000
        assert "no model can be fitted" in text
