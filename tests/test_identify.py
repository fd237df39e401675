"""What a table can tell apart, against dense basis matrices in exact arithmetic."""

import itertools
import math
import random
import time
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from panels import cells_of, crossed, cyclic, mixed, thinned

from bayesjudge.design.cells import Cells
from bayesjudge.design.identify import identify
from bayesjudge.terms import RANDOM_TERMS, TERMS

PAPER = ("scenario", "generation", "judge", "residual")


def cells(rows):
    return cells_of(rows, np.zeros(len(rows)))


def coded(scenario, generation, judge):
    """Cells from arrays of codes that are sorted already."""
    ids = [np.unique(codes) for codes in (scenario, generation, judge)]
    return Cells(0, scenario, generation, judge, np.zeros(len(scenario)), *ids)


# The brute force. M is written out with the judges' counts cleared from its denominators, so that
# all matrices hold whole numbers; dependence is decided by elimination over the rationals.


def basis(c, term):
    """A one wherever two calls share a level of the term."""
    calls = np.arange(len(c.score))
    keys = {
        "scenario": (c.scenario,),
        "generation": (c.generation,),
        "scenario:judge": (c.scenario, c.judge),
        "generation:judge": (c.generation, c.judge),
        "residual": (calls,),
    }[term]
    return np.logical_and.reduce([k[:, None] == k[None, :] for k in keys]).astype(object)


def without_judge_means(c):
    same = (c.judge[:, None] == c.judge[None, :]).astype(int)
    counts = [int(count) for count in same.sum(axis=1)]
    common = math.lcm(*counts)
    M = [
        [common * (i == j) - same[i, j] * (common // counts[i]) for j in range(len(counts))]
        for i in range(len(counts))
    ]
    return np.array(M, dtype=object)


def rank(vectors):
    rows = [[Fraction(int(x)) for x in vector] for vector in vectors]
    found = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((k for k in range(found, len(rows)) if rows[k][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for k in range(found + 1, len(rows)):
            times = rows[k][column] / rows[found][column]
            if times:
                rows[k] = [x - times * y for x, y in zip(rows[k], rows[found], strict=True)]
        found += 1
        if found == len(rows):
            break
    return found


def brute_force(c, terms=TERMS):
    """Blocks, absent and entangled terms by looking at every subset of the terms."""
    M = without_judge_means(c)
    chosen = [term for term in RANDOM_TERMS if term in terms]
    vectors = {term: tuple((M @ basis(c, term) @ M).ravel()) for term in chosen}
    columns = list(dict.fromkeys(zip(*vectors.values(), strict=True)))  # repeats add no rank
    short = dict(zip(chosen, zip(*columns, strict=True), strict=True))
    circuits = []
    for size in range(1, len(chosen) + 1):
        for subset in map(set, itertools.combinations(chosen, size)):
            dependent = rank([short[term] for term in subset]) < size
            if dependent and not any(circuit <= subset for circuit in circuits):
                circuits.append(subset)
    absent = {term for circuit in circuits if len(circuit) == 1 for term in circuit}
    blocks = {term: {term} for term in chosen if term not in absent}
    for circuit in circuits:
        if len(circuit) > 1:
            joined = set().union(*(blocks[term] for term in circuit))
            blocks |= dict.fromkeys(joined, joined)
    groups = {frozenset(block) for block in blocks.values()}
    entangled = {block for block in groups if len({vectors[term] for term in block}) > 1}
    if "judge" in terms:
        if len(set(c.judge)) > 1:
            groups.add(frozenset({"judge"}))
        else:
            absent.add("judge")
    return groups, absent, entangled


def agrees_with_brute_force(c, terms=TERMS):
    found = identify(c, terms)
    blocks, absent, entangled = brute_force(c, terms)
    assert set(map(frozenset, found.blocks)) == blocks
    assert set(found.absent) == absent
    assert set(map(frozenset, found.entangled)) == entangled


ALL = "scenario+generation+scenario:judge+generation:judge+residual"
NOT_SCENARIO = "generation+scenario:judge+generation:judge+residual"
NOT_INTERACTION = "generation+generation:judge+residual"
PLAIN = ("scenario", "generation", "judge", "scenario:judge", "generation:judge+residual")
DESIGNS = {
    "crossed": (crossed(4, 2, 3), PLAIN, ()),
    "crossed, two judges": (crossed(3, 2, 2), PLAIN, ()),
    "crossed, cells missing": (thinned(crossed(5, 3, 3), 0.7), PLAIN, ()),
    "crossed, one generation": (
        crossed(4, 1, 3),
        ("scenario+generation", "judge", "scenario:judge+generation:judge+residual"),
        (),
    ),
    "one judge": (
        crossed(4, 3, 1),
        ("scenario+scenario:judge", NOT_INTERACTION),
        ("judge",),
    ),
    "one judge, one generation": (crossed(5, 1, 1), (ALL,), ("judge",)),
    "cyclic, one call": (cyclic(9, 1, 3), (ALL, "judge"), ()),
    "cyclic, fewer calls than judges": (
        cyclic(8, 2, 3),
        ("scenario", NOT_SCENARIO, "judge"),
        (),
    ),
    "cyclic, as many calls as judges": (
        cyclic(5, 3, 3),
        ("scenario", NOT_SCENARIO, "judge"),
        (),
    ),
    "cyclic, more calls than judges": (
        cyclic(5, 4, 3),
        ("scenario", NOT_INTERACTION, "judge", "scenario:judge"),
        (),
    ),
    "cyclic, two full rounds": (
        cyclic(4, 6, 3),
        ("scenario", NOT_INTERACTION, "judge", "scenario:judge"),
        (),
    ),
    "repeated calls": (
        crossed(3, 2, 2, repeats=2),
        ("scenario", "generation", "judge", "scenario:judge", "generation:judge", "residual"),
        (),
    ),
    "repeated calls, one generation": (
        crossed(4, 1, 2, repeats=2),
        ("scenario+generation", "judge", "scenario:judge+generation:judge", "residual"),
        (),
    ),
    "repeated calls, one judge": (
        crossed(3, 2, 1, repeats=2),
        ("scenario+scenario:judge", "generation+generation:judge", "residual"),
        ("judge",),
    ),
    "repeated calls, one judge, one generation": (
        crossed(4, 1, 1, repeats=2),
        ("scenario+generation+scenario:judge+generation:judge", "residual"),
        ("judge",),
    ),
    "one call repeated": (
        [*crossed(3, 2, 2), (0, 0, 0)],
        ("scenario", "generation", "judge", "scenario:judge", "generation:judge", "residual"),
        (),
    ),
    "one scenario": (
        crossed(1, 4, 3),
        ("generation", "judge", "generation:judge+residual"),
        ("scenario", "scenario:judge"),
    ),
    "one scenario, one generation": (
        crossed(1, 1, 4),
        ("judge",),
        ("scenario", "generation", "scenario:judge", "generation:judge", "residual"),
    ),
    "one scenario, one generation, repeats": (
        crossed(1, 1, 3, repeats=2),
        ("judge", "residual"),
        ("scenario", "generation", "scenario:judge", "generation:judge"),
    ),
    "a single call": (
        [(0, 0, 0)],
        (),
        ("scenario", "generation", "judge", "scenario:judge", "generation:judge", "residual"),
    ),
    "each judge has its own scenario": (
        [(k, j, k) for k in range(3) for j in range(3)],
        (NOT_INTERACTION, "judge"),
        ("scenario", "scenario:judge"),
    ),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_each_design_has_its_sums(name):
    rows, names, absent = DESIGNS[name]
    found = identify(cells(rows), TERMS)
    assert found.names == names
    assert found.absent == absent
    assert found.entangled == ()


@pytest.mark.parametrize("terms", [TERMS, PAPER], ids=["all terms", "without interactions"])
@pytest.mark.parametrize("name", DESIGNS)
def test_each_design_equals_brute_force(name, terms):
    agrees_with_brute_force(cells(DESIGNS[name][0]), terms)


@pytest.mark.parametrize("K", [1, 2, 3, 4])
@pytest.mark.parametrize("calls", [1, 2, 3, 4, 5])
def test_cyclic_designs_equal_brute_force_for_every_budget(calls, K):
    agrees_with_brute_force(cells(cyclic(4, calls, K)))


@pytest.mark.parametrize("terms", [TERMS, PAPER], ids=["all terms", "without interactions"])
@pytest.mark.parametrize("sizes", list(itertools.product([1, 2, 3], repeat=4)), ids=str)
def test_balanced_designs_equal_brute_force_for_all_sizes(sizes, terms):
    """The shortcut for balanced tables looks at none of them beyond two of each kind."""
    n, m, K, r = sizes
    agrees_with_brute_force(cells(crossed(n, m, K, r)), terms)


@pytest.mark.parametrize("seed", range(6))
def test_random_missing_cells_equal_brute_force(seed):
    rows = thinned(crossed(4, 2, 3, repeats=1 + seed % 2), 0.4 + 0.1 * (seed % 3), seed)
    agrees_with_brute_force(cells(rows))


CALL = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(rows=st.lists(CALL, min_size=1, max_size=12))
@example(rows=[(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 1)])  # entangled with four calls
@example(rows=[(0, 0, 0), (0, 0, 0), (1, 0, 1), (1, 0, 1)])
def test_any_small_table_equals_brute_force(rows):
    agrees_with_brute_force(cells(rows))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=st.lists(CALL, min_size=1, max_size=12), terms=st.sets(st.sampled_from(TERMS)))
def test_any_selection_of_terms_equals_brute_force(rows, terms):
    agrees_with_brute_force(cells(rows), tuple(terms))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(rows=st.lists(CALL, min_size=1, max_size=20), seed=st.integers(0, 99))
def test_labels_and_the_order_of_rows_do_not_matter(rows, seed):
    dice = random.Random(seed)
    names = [dice.sample(range(3), 3) for _ in range(3)]
    other = [tuple(names[k][row[k]] for k in range(3)) for row in rows]
    dice.shuffle(other)
    assert identify(cells(rows), TERMS) == identify(cells(other), TERMS)


@pytest.mark.parametrize(("n", "size"), [(2, 2), (3, 2), (2, 3), (4, 3)])
def test_a_mix_of_crossed_and_one_judge_scenarios_is_entangled(n, size):
    c = cells(mixed(n, size))
    found = identify(c, TERMS)
    assert found.entangled == (tuple(term for term in TERMS if term != "judge"),)
    agrees_with_brute_force(c)
    assert identify(c, PAPER).entangled == ()


def test_one_scenario_seen_both_ways_resolves_the_mix():
    whole = [(99, j, k) for j in range(2) for k in range(3)]
    assert identify(cells(mixed(3, 3) + whole), TERMS).names == PLAIN


def test_terms_stand_in_their_order_whatever_order_is_asked_for():
    c = cells(crossed(4, 2, 3))
    assert identify(c, reversed(TERMS)) == identify(c, TERMS)
    assert identify(c, ()).blocks == identify(c, ()).absent == ()


# One call among many decides; none of it may drown in rounding.


@pytest.mark.parametrize("calls", [1_000, 60_000])
def test_one_scenario_stays_one_however_many_calls(calls):
    g = np.repeat(np.arange(calls // 4), 4)
    found = identify(coded(np.zeros_like(g), g, np.tile(np.arange(4), calls // 4)), TERMS)
    assert found.names == ("generation", "judge", "generation:judge+residual")
    assert found.absent == ("scenario", "scenario:judge")


def test_one_repeated_call_in_sixty_thousand_is_found():
    g = np.append(np.repeat(np.arange(15_000), 4), 14_999)
    j = np.append(np.tile(np.arange(4), 15_000), 3)
    assert identify(coded(g // 5, g, j), TERMS).names[-2:] == ("generation:judge", "residual")


def test_one_second_generation_in_twenty_thousand_scenarios_is_found():
    g = np.repeat(np.arange(20_000), 3)
    s = np.maximum(g - 1, 0)
    found = identify(coded(s, g, np.tile(np.arange(3), 20_000)), TERMS)
    assert found.names == PLAIN
    found = identify(coded(g, g, np.tile(np.arange(3), 20_000)), TERMS)
    assert found.names[0] == "scenario+generation"


def test_146_000_calls_of_33_judges_take_less_than_two_seconds():
    K, generations = 33, 4423
    g = np.repeat(np.arange(generations), K)
    s = np.sort(np.random.default_rng(0).integers(0, 25, generations))[g]
    c = coded(s, g, np.tile(np.arange(K), generations))
    keep = np.random.default_rng(1).random(len(g)) < 0.999
    c = replace(
        c,
        **{name: getattr(c, name)[keep] for name in ("scenario", "generation", "judge", "score")},
    )
    start = time.perf_counter()
    assert identify(c, TERMS).names == PLAIN
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    ("scenarios", "generations", "K", "share"),
    [(50, 100, 1_000, 0.2), (1_000, 2_000, 1_000, 0.01), (2, 2, 20_000, 1.0)],
    ids=["dense", "sparse", "many judges"],
)
def test_memory_does_not_grow_with_the_square_of_calls_or_judges(scenarios, generations, K, share):
    rng = np.random.default_rng(2)
    pairs = np.sort(rng.choice(generations * K, int(share * generations * K), replace=False))
    g = np.unique(pairs // K, return_inverse=True)[1]
    j = np.unique(pairs % K, return_inverse=True)[1]
    s = np.unique(g * scenarios // generations, return_inverse=True)[1]
    tracemalloc.start()
    found = identify(coded(s, g, j), TERMS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.names[-1] == (
        "generation:judge+residual"
        if generations > scenarios
        else "scenario:judge+generation:judge+residual"
    )
    assert peak < 200e6  # a square of 20,000 calls would take 3.2 GB
