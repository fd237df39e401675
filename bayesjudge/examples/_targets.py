"""The figures of arXiv 2603.01865 that the synthetic panels reproduce, as printed.

Source: *CyclicJudge: Mitigating Judge Bias Efficiently in LLM-based Evaluation* (arXiv
2603.01865), Tables 1-4. Figures are kept as strings because the number of printed digits is part
of what they say: a value is only known to lie within half a unit of its last digit.

Table 1's ``±`` columns are left out. They can't be had together with Tables 2 and 3: squared,
averaged over judges and multiplied by ``n``, they should give ``1.96² (scenario + generation +
residual)``; they give about a quarter of it for MT-Bench and two thirds for MindEval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LABELS = ("Qwen", "Llama", "GPT", "Gemini", "Claude")
"""Short names of the five systems, each of them evaluated model and judge: Qwen 2.5 7B,
Llama 3.3 70B, GPT-5.2, Gemini 3 Flash, Claude Sonnet 4.6. Every tuple below is in this order."""

COMPONENTS = ("scenario", "generation", "judge", "residual")


@dataclass(frozen=True)
class PaperTables:
    """What the paper prints about one panel; tuples run over `LABELS`.

    Attributes
    ----------
    n_scenarios, n_generations
        Scenarios per panel and generations per scenario.
    scale
        Lowest and highest score of the scale.
    judge_means
        Table 1: evaluated model to its mean score by judge.
    mean
        Table 3: mean score by evaluated model.
    variance
        Tables 2 and 3: component to its per-observation variance by evaluated model.
    contribution
        Table 3: component to its contribution to the variance of the mean at one generation and
        one judge, in units of 10⁻³, by evaluated model.
    f_statistic
        Table 4: the F statistic of the judge main effect by evaluated model.
    """

    n_scenarios: int
    n_generations: int
    scale: tuple[float, float]
    judge_means: Mapping[str, tuple[str, ...]]
    mean: tuple[str, ...]
    variance: Mapping[str, tuple[str, ...]]
    contribution: Mapping[str, tuple[str, ...]]
    f_statistic: tuple[str, ...]


MTBENCH = PaperTables(
    n_scenarios=80,
    n_generations=10,
    scale=(1.0, 10.0),
    judge_means={
        "Qwen": ("8.02", "8.39", "6.09", "7.16", "5.99"),
        "Llama": ("7.87", "8.71", "6.90", "8.58", "7.26"),
        "GPT": ("7.91", "8.81", "8.67", "9.71", "8.49"),
        "Gemini": ("8.02", "8.98", "8.20", "9.88", "8.68"),
        "Claude": ("7.96", "9.06", "7.91", "9.62", "8.52"),
    },
    mean=("7.13", "7.87", "8.72", "8.75", "8.61"),
    variance={
        "scenario": ("1.530", "0.882", "0.634", "0.408", "0.393"),
        "generation": ("0.266", "0.238", "0.076", "0.000", "0.000"),
        "judge": ("0.947", "0.503", "0.339", "0.435", "0.427"),
        "residual": ("1.486", "1.130", "0.564", "0.661", "0.830"),
    },
    contribution={
        "scenario": ("19.13", "11.03", "7.92", "5.11", "4.92"),
        "generation": ("3.33", "2.97", "0.94", "0.00", "0.00"),
        "judge": ("946.50", "502.50", "339.00", "435.40", "426.60"),
        "residual": ("18.57", "14.12", "7.05", "8.27", "10.38"),
    },
    f_statistic=("638.2", "445.8", "601.7", "659.2", "514.9"),
)

MINDEVAL = PaperTables(
    n_scenarios=50,
    n_generations=5,
    scale=(1.0, 5.0),
    judge_means={
        "Qwen": ("3.26", "3.38", "2.32", "1.69", "1.74"),
        "Llama": ("3.70", "4.29", "3.16", "3.00", "2.85"),
        "GPT": ("4.04", "4.51", "3.76", "3.95", "3.39"),
        "Gemini": ("3.90", "4.49", "3.63", "3.91", "3.31"),
        "Claude": ("3.86", "4.67", "4.05", "4.72", "4.84"),
    },
    mean=("2.478", "3.400", "3.931", "3.846", "4.431"),
    variance={
        "scenario": ("0.034", "0.014", "0.021", "0.015", "0.005"),
        "generation": ("0.100", "0.019", "0.047", "0.016", "0.002"),
        "judge": ("0.523", "0.280", "0.132", "0.150", "0.155"),
        "residual": ("0.159", "0.069", "0.207", "0.103", "0.061"),
    },
    contribution={
        "scenario": ("0.67", "0.28", "0.43", "0.29", "0.09"),
        "generation": ("2.01", "0.38", "0.93", "0.31", "0.04"),
        "judge": ("522.50", "280.20", "132.00", "150.20", "154.80"),
        "residual": ("3.18", "1.37", "4.14", "2.05", "1.23"),
    },
    # Llama's 1280.1 is out of reach: with var_judge <= .280205 and var_residual >= .0685 (Tables
    # 2 and 3) F is at most 1279.3. It goes with a residual of .06846, that is 1.37 in Table 3 and
    # .068, not .069, in Table 2.
    f_statistic=("1029.5", "1280.1", "200.1", "458.0", "788.9"),
)
