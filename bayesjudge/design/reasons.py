"""Why terms can't be told apart, in words."""

from __future__ import annotations

from collections.abc import Collection

from bayesjudge.terms import parts

# What can be true of a table and hide the difference between two terms.
NO_REPEAT = "no call is repeated"
ONE_GENERATION = "each scenario has one generation"
NO_SHARED_GENERATION = "no generation was scored by two judges"
NO_SECOND_GENERATION = "no judge saw two generations of a scenario"
NO_SHARED_SCENARIO = "no scenario was scored by two judges"
BEHIND_JUDGES = "what would tell them apart can't be told from the judges' own means"

# Why two terms can't be told apart. Earlier lines are the plainer ones.
REASONS = (
    ("generation:judge", "residual", NO_REPEAT),
    ("scenario", "generation", ONE_GENERATION),
    ("generation", "residual", NO_SHARED_GENERATION),
    ("generation", "generation:judge", NO_SHARED_GENERATION),
    ("scenario:judge", "generation:judge", NO_SECOND_GENERATION),
    ("scenario", "scenario:judge", NO_SHARED_SCENARIO),
    ("scenario:judge", "residual", NO_SECOND_GENERATION),
)


def reasons(name: str, facts: Collection[str]) -> list[str]:
    """Say why the terms of a sum can't be told apart, with no more reasons than needed.

    Parameters
    ----------
    name : str
        Name of the sum.
    facts : collection of str
        Which of the reasons hold for the table.
    """
    group = {term: term for term in parts(name)}
    found = []
    for one, other, reason in REASONS:
        if reason in facts and one in group and other in group and group[one] != group[other]:
            found.append(reason)
            old, new = group[other], group[one]
            group = {term: new if own == old else own for term, own in group.items()}
    if len(set(group.values())) > 1:
        found.append(BEHIND_JUDGES)
    return list(dict.fromkeys(found))
