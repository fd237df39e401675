"""Names of terms and of their sums."""

import itertools

import pytest

from bayesjudge.terms import RANDOM_TERMS, TERMS, carrier, in_order, parts, sum_name

SUBSETS = [
    subset for size in range(1, len(TERMS) + 1) for subset in itertools.combinations(TERMS, size)
]


@pytest.mark.parametrize("subset", SUBSETS, ids="+".join)
def test_a_sum_is_named_in_order_and_read_back(subset):
    assert parts(sum_name(subset)) == subset
    assert sum_name(reversed(subset)) == sum_name(subset)
    assert in_order(reversed(subset)) == subset


@pytest.mark.parametrize("subset", SUBSETS, ids="+".join)
def test_the_carrier_is_one_of_the_sum_and_does_not_depend_on_order(subset):
    assert carrier(subset) in subset
    assert carrier(reversed(subset)) == carrier(subset)


@pytest.mark.parametrize(
    ("name", "carried_by"),
    [
        ("scenario+generation", "scenario"),
        ("generation:judge+residual", "residual"),
        ("scenario:judge+generation:judge+residual", "residual"),
        ("generation+scenario:judge+generation:judge+residual", "residual"),
        ("scenario+scenario:judge", "scenario"),
        ("generation+generation:judge", "generation"),
        ("scenario:judge+generation:judge", "generation:judge"),
        ("judge", "judge"),
    ],
)
def test_the_zero_sum_interaction_never_carries_a_sum(name, carried_by):
    assert carrier(parts(name)) == carried_by


def test_all_terms_but_the_judge_are_random():
    assert tuple(term for term in TERMS if term != "judge") == RANDOM_TERMS


def test_an_unknown_term_is_no_sum():
    with pytest.raises(ValueError, match="not in tuple"):
        sum_name(["scenario", "judges"])
