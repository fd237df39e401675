"""Bundled example panels: synthetic scores with the structure of published ones.

Made by `bayesjudge.examples.make_panels`. In all three, five systems are both evaluated models and
judges, under short labels: Qwen (2.5 7B), Llama (3.3 70B), GPT (5.2), Gemini (3 Flash) and Claude
(Sonnet 4.6).
"""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from bayesjudge.errors import ScoreError
from bayesjudge.wording import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.scores import ScoreTable

DESCRIPTIONS = {
    "mtbench": (
        "Synthetic scores of 5 models x 80 scenarios x 10 generations x 5 judges whose sample "
        "moments reproduce the MT-Bench half of Tables 1-4 of arXiv 2603.01865 to their printed "
        "digits, but not Table 1's +- figures, single scores (real-valued, 13% off the 1-10 "
        "scale) or the scenario x judge interaction, which the paper does not estimate."
    ),
    "mindeval": (
        "Synthetic scores of 5 models x 50 scenarios x 5 generations x 5 judges whose sample "
        "moments reproduce the MindEval half of Tables 1-4 of arXiv 2603.01865 to their printed "
        "digits (Llama's F in Table 4 to 0.1%), but not Table 1's +- figures, single scores "
        "(real-valued, 4% off the 1-5 scale) or the scenario x judge interaction, which the "
        "paper does not estimate."
    ),
    "mtbench-ordinal": (
        "Synthetic half-point scores on 1-10 of 5 models x 80 scenarios x 10 generations x 5 "
        "judges, drawn from a cumulative-logit model, that reproduce the judge means of Table 1 of "
        "arXiv 2603.01865 (MT-Bench) to about 0.1 with a ceiling at 10, but not its +- figures, "
        "nor Tables 2-4."
    ),
}
"""One sentence on each example: what it is, what it reproduces and what not."""

NAMES = tuple(DESCRIPTIONS)

_SCALES: dict[str, tuple[float, float] | tuple[float, float, float]] = {
    "mtbench": (1.0, 10.0),
    "mindeval": (1.0, 5.0),
    "mtbench-ordinal": (1.0, 10.0, 0.5),
}


def frame(name: str) -> pd.DataFrame:
    """Read an example as a plain data frame.

    Parameters
    ----------
    name
        One of `NAMES`.

    Returns
    -------
    pandas.DataFrame
        Columns ``model, scenario, generation, judge, score``; all but the last are text.

    Raises
    ------
    ScoreError
        If there is no example of that name.
    """
    if name not in DESCRIPTIONS:
        raise ScoreError(
            f"There is no example {name!r}; the examples are {', '.join(NAMES)}."
            + did_you_mean(name, NAMES)
        )
    import pandas as pd

    labels = dict.fromkeys(("model", "scenario", "generation", "judge"), "str")
    with as_file(files(__name__) / f"{name}.csv.gz") as path:
        return pd.read_csv(path, dtype={**labels, "score": "float64"})


def load(name: str) -> ScoreTable:
    """Load a bundled example panel.

    Parameters
    ----------
    name
        One of `NAMES`; `DESCRIPTIONS` says what each is.

    Returns
    -------
    ScoreTable
        The scores on their declared scale. The Gaussian panels keep the scores outside it: without
        them their moments would not be the published ones.

    Raises
    ------
    ScoreError
        If there is no example of that name.
    """
    table = frame(name)
    from bayesjudge.scores.raw import from_dataframe
    from bayesjudge.scores.reading import Reading, build

    reading = Reading(scale=_SCALES[name], outside="keep")
    return build(from_dataframe(table, f"example:{name}"), reading)
