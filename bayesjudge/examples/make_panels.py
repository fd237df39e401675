"""Make the bundled example panels: ``python -m bayesjudge.examples.make_panels``.

Deterministic: every run writes the same bytes. The paper's raw scores are not public, so the
panels are synthetic; what they share with the paper is said in `bayesjudge.examples`.
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING

from bayesjudge.examples._moments import choose_moments, gaussian_panel
from bayesjudge.examples._ordinal import ordinal_panel
from bayesjudge.examples._targets import LABELS, MINDEVAL, MTBENCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from bayesjudge.examples._moments import Moments
    from bayesjudge.examples._targets import PaperTables

SEEDS = {"mtbench": 2608, "mindeval": 1872, "mtbench-ordinal": 260306}
"""Each the best of twelve. The moments of the Gaussian panels don't depend on the seed; theirs
give scenario effects whose sample correlations over models are near one half. The ordinal one
gives the sample means nearest to Table 1."""

# The scenario x judge variance of each evaluated model, about which the paper says nothing: 13-16%
# of its residual. Where the paper prints a generation variance of 0.000 it is 28-30%: enough to
# push the paper's estimator below zero although generations do differ. That is the lesson of the
# panel: leaving out scenario x judge hides generation variance.
INTERACTION = {
    "mtbench": {"Qwen": 0.20, "Llama": 0.15, "GPT": 0.09, "Gemini": 0.20, "Claude": 0.23},
    "mindeval": {"Qwen": 0.024, "Llama": 0.010, "GPT": 0.031, "Gemini": 0.015, "Claude": 0.009},
}
# Raw generation estimates where 0.000 is printed.
NEGATIVE_GENERATION = {"mtbench": {"Gemini": -0.004, "Claude": -0.006}, "mindeval": {}}

TABLES = {"mtbench": MTBENCH, "mindeval": MINDEVAL}


def chosen_moments(name: str) -> dict[str, Moments]:
    """Choose the sample moments of a Gaussian panel, by evaluated model."""
    tables: PaperTables = TABLES[name]
    negative: Mapping[str, float] = NEGATIVE_GENERATION[name]
    return {
        label: choose_moments(
            tables,
            label,
            interaction=INTERACTION[name][label],
            negative_generation=negative.get(label),
        )
        for label in LABELS
    }


def _to_csv(scores: NDArray[np.float64], digits: str) -> str:
    """Write scores by model, scenario, generation and judge as one row each."""
    lines = ["model,scenario,generation,judge,score"]
    for model, by_scenario in zip(LABELS, scores.tolist(), strict=True):
        for i, by_generation in enumerate(by_scenario, start=1):
            for j, by_judge in enumerate(by_generation, start=1):
                lines += [
                    f"{model},{i},{j},{judge},{score:{digits}}"
                    for judge, score in zip(LABELS, by_judge, strict=True)
                ]
    return "\n".join(lines) + "\n"


def _compress(text: str) -> bytes:
    """Compress without the time and the file name, which would differ from run to run."""
    buffer = io.BytesIO()
    with gzip.GzipFile("", "wb", compresslevel=9, fileobj=buffer, mtime=0) as stream:
        stream.write(text.encode())
    return buffer.getvalue()


def panel_files() -> dict[str, bytes]:
    """Make all panels.

    Returns
    -------
    dict
        File name to contents.
    """
    texts = {
        name: _to_csv(gaussian_panel(TABLES[name], chosen_moments(name), SEEDS[name]), ".6f")
        for name in TABLES
    }
    texts["mtbench-ordinal"] = _to_csv(ordinal_panel(SEEDS["mtbench-ordinal"]), "g")
    return {f"{name}.csv.gz": _compress(text) for name, text in texts.items()}


def write(directory: Path | None = None) -> list[Path]:
    """Write the panels into a directory, by default the package's own.

    Returns
    -------
    list of Path
        The files written.
    """
    folder = Path(__file__).parent if directory is None else directory
    paths = []
    for name, content in panel_files().items():
        path = folder / name
        path.write_bytes(content)
        paths.append(path)
    return paths


if __name__ == "__main__":
    for written in write():
        print(f"{written} ({written.stat().st_size:,} bytes)")
