"""The real tables that tests read; a test that needs one is skipped where it is not."""

from pathlib import Path

import pandas as pd
import pytest

from bayesjudge.readers import read_scores

DATA = Path(__file__).parents[2] / "shared" / "data"


def real(name):
    if not (DATA / name).exists():
        pytest.skip(f"the real data {name} is not here")
    return DATA / name


def relevance(**options):
    """146,000 labels of 33 judges for passages: 0 to 3, and three that are none of these."""
    path = real("llmjudge_trec_wide.csv")
    judges = [c for c in pd.read_csv(path, nrows=1).columns if c not in ("query", "passage")]
    return read_scores(
        path,
        columns={"scenario": "query", "generation": "passage"},
        judges=judges,
        model_name="TREC",
        levels=[0, 1, 2, 3],
        **options,
    )
