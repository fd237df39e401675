"""The jobs: which table, and which terms every tool has to fit to it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import cycle

import numpy as np
import pandas as pd

SCALE = (1.0, 10.0)

# What is sampled: variances (score²) of scenario, generation, judge, scenario:judge, residual, and
# the mean. Of the size of the five models of MT-Bench in arXiv 2603.01865, Tables 1 and 2.
TRUTHS = {
    "Llama": (0.88, 0.24, 0.50, 0.12, 1.13, 7.9),
    "Qwen": (1.53, 0.27, 0.95, 0.16, 1.49, 7.1),
    "GPT": (0.63, 0.08, 0.34, 0.07, 0.56, 8.7),
    "Gemini": (0.41, 0.04, 0.44, 0.16, 0.66, 8.7),
    "Claude": (0.39, 0.04, 0.43, 0.18, 0.83, 8.6),
}


# What the ordinal table of one model is drawn from, on the logit scale: standard deviations of
# scenario, generation and judges' offsets (that of the panel: they sum to zero), and thresholds.
LATENT_SCENARIO, LATENT_GENERATION, LATENT_JUDGE = 1.0, 0.5, 0.8
THRESHOLDS = np.linspace(-4.0, 2.5, 9)


@dataclass(frozen=True)
class Job:
    """One table and the terms to fit.

    Attributes
    ----------
    name, statement : str
        What it is called, and what it is.
    models, scenarios, generations, judges : int
        Size of the complete table.
    missing : float
        Share of the scores that is taken out at random.
    interaction : bool
        Whether the table has scenario:judge effects, and whether they are fitted.
    seed : int
        Of the table.
    model : str
        "gaussian" or "ordinal".
    scale : tuple of float
        Lowest and highest score, and the step between levels where there is one.
    example : str
        The bundled panel that the table is, or the first part of; nothing if it's drawn here.
    task : str
        "fit", "many" (a fit of its own for each evaluated model, written to a folder), or "help"
        (the command line says what it can do: the table isn't read).
    parquet : bool
        Whether tools in Python read the table from Parquet. Those in R read CSV.
    limit : float
        Seconds after which a run is ended.
    runs : int
        Runs of each tool for one that is asked for.
    """

    name: str
    statement: str
    models: int
    scenarios: int
    generations: int
    judges: int
    missing: float
    interaction: bool
    seed: int
    _: KW_ONLY
    model: str = "gaussian"
    scale: tuple[float, ...] = SCALE
    example: str = ""
    task: str = "fit"
    parquet: bool = False
    limit: float = 900.0
    runs: int = 1

    @property
    def kind(self) -> str:
        """What decides which tools can do it."""
        return self.model if self.task == "fit" else self.task

    def table(self) -> pd.DataFrame:
        """Draw the table: the same on every machine."""
        if self.example:
            return self._of_example()
        rng = np.random.default_rng(self.seed)
        if self.model == "ordinal":
            return self._ordinal(rng)
        together = pd.concat(
            [self._one(label, truth, rng) for label, truth in self._truths()], ignore_index=True
        )
        gone = rng.permutation(len(together))[: round(self.missing * len(together))]
        return together.drop(index=gone).reset_index(drop=True)

    def _truths(self) -> list[tuple[str, tuple[float, ...]]]:
        if self.task != "many":
            return list(TRUTHS.items())[: self.models]
        in_turn = zip(range(self.models), cycle(TRUTHS.values()), strict=False)
        return [(f"panel{t:04d}", truth) for t, truth in in_turn]

    def _one(self, label: str, truth: tuple[float, ...], rng: np.random.Generator) -> pd.DataFrame:
        n, m, K = self.scenarios, self.generations, self.judges
        scenario, generation, judge, interaction, residual, mean = truth
        offsets = rng.standard_normal(K)
        offsets -= offsets.mean()
        offsets *= np.sqrt(judge / np.mean(offsets**2))
        eta = rng.normal(0, np.sqrt(interaction * K / (K - 1)), (n, 1, K)) * self.interaction
        eta -= eta.mean(axis=2, keepdims=True)
        score = (
            mean
            + rng.normal(0, np.sqrt(scenario), (n, 1, 1))
            + rng.normal(0, np.sqrt(generation), (n, m, 1))
            + offsets
            + eta
            + rng.normal(0, np.sqrt(residual), (n, m, K))
        )
        return _long(label, score.round(6))

    def _ordinal(self, rng: np.random.Generator) -> pd.DataFrame:
        n, m, K = self.scenarios, self.generations, self.judges
        offsets = rng.standard_normal(K)
        offsets -= offsets.mean()
        offsets *= LATENT_JUDGE / np.sqrt(np.mean(offsets**2))
        latent = (
            rng.normal(0, LATENT_SCENARIO, (n, 1, 1))
            + rng.normal(0, LATENT_GENERATION, (n, m, 1))
            + offsets
            + rng.logistic(0, 1, (n, m, K))
        )
        low, _, step = self.scale
        return _long("Llama", low + step * np.searchsorted(THRESHOLDS, latent))

    def _of_example(self) -> pd.DataFrame:
        from bayesjudge.examples import frame

        whole = frame(self.example)
        sizes = {
            "model": self.models,
            "scenario": self.scenarios,
            "generation": self.generations,
            "judge": self.judges,
        }
        kept = [whole[column].isin(whole[column].unique()[:size]) for column, size in sizes.items()]
        return whole[np.logical_and.reduce(kept)].reset_index(drop=True)


def _long(label: str, score: np.ndarray) -> pd.DataFrame:
    i, j, k = (axis.ravel() for axis in np.indices(score.shape))
    return pd.DataFrame(
        {
            "model": label,
            "scenario": _labels("s{:03d}", i),
            "generation": _labels("g{:02d}", j),
            "judge": _labels("j{:02d}", k),
            "score": score.ravel(),
        }
    )


def _labels(form: str, index: np.ndarray) -> np.ndarray:
    return np.array([form.format(x) for x in range(index.max() + 1)], dtype=object)[index]


JOBS = {
    job.name: job
    for job in (
        Job("one-model", "one model, 80 x 10 x 5 = 4,000 scores", 1, 80, 10, 5, 0.0, False, 11),
        Job(
            "five-models",
            "five models of 80 x 10 x 5, 20,000 scores, complete",
            *(5, 80, 10, 5, 0.0, False, 12),
        ),
        Job(
            "missing-cells",
            "one model, 80 x 10 x 5, a tenth of the scores missing (3,600 left), scenario:judge "
            "in the model",
            *(1, 80, 10, 5, 0.1, True, 13),
        ),
        Job("small", "one model, 20 x 2 x 3 = 120 scores", 1, 20, 2, 3, 0.0, False, 14),
        Job(
            "large",
            "one model, 1,000 x 10 x 10 = 100,000 scores, from CSV",
            *(1, 1000, 10, 10, 0.0, False, 16),
        ),
        Job(
            "million",
            "one model, 2,000 x 50 x 10 = 1,000,000 scores, from Parquet (lme4: from CSV)",
            *(1, 2000, 50, 10, 0.0, False, 17),
            parquet=True,
            limit=300.0,
        ),
        Job(
            "many",
            "1,000 fits, each of a panel of its own of 20 x 2 x 3 = 120 scores",
            *(1000, 20, 2, 3, 0.0, False, 18),
            task="many",
        ),
        Job(
            "help",
            "`bayesjudge --help`",
            *(1, 2, 1, 2, 0.0, False, 19),
            task="help",
            limit=60.0,
            runs=9,
        ),
        Job(
            "ordinal",
            "one model, 80 x 10 x 5 = 4,000 scores on ten levels",
            *(1, 80, 10, 5, 0.0, False, 15),
            model="ordinal",
            scale=(1.0, 10.0, 1.0),
        ),
        Job(
            "ordinal-five-models",
            "five models of 80 x 10 x 5, 20,000 scores on 19 levels (half points)",
            *(5, 80, 10, 5, 0.0, False, 0),
            model="ordinal",
            scale=(1.0, 10.0, 0.5),
            example="mtbench-ordinal",
        ),
    )
}
