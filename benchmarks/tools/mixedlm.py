"""statsmodels' MixedLM: restricted maximum likelihood, a fit for each evaluated model.

A point fit: no draws. Judges are fixed effects, as in `lme4.R`.
"""

from __future__ import annotations

import platform
import warnings

import numpy as np
import pandas as pd
import statsmodels
import statsmodels.formula.api as smf

from benchmarks.tools.outcome import read, task, write_point


def variances(own: pd.DataFrame, interaction: bool) -> dict[str, float]:
    """Fit the table of one model.

    Parameters
    ----------
    own : DataFrame
        Its scores.
    interaction : bool
        Whether scenario:judge is among the terms; it is given relative to the panel.
    """
    within = {"generation": "0 + C(generation)"}
    if interaction:
        within["judge"] = "0 + C(judge)"
    # Judges are nested in a group there, as generations are.
    model = smf.mixedlm(
        "score ~ C(judge, Sum)", own, groups="scenario", re_formula="1", vc_formula=within
    )
    fitted = model.fit(reml=True)
    found = dict(zip(model.exog_vc.names, fitted.vcomp, strict=True))
    scenario = float(np.asarray(fitted.cov_re)[0, 0])
    result = {"generation": float(found["generation"]), "residual": float(fitted.scale)}
    if not interaction:
        return result | {"scenario": scenario}
    K, free = own["judge"].nunique(), float(found["judge"])
    return result | {"scenario": scenario + free / K, "scenario:judge": free * (K - 1) / K}


def main() -> None:
    job = task()
    frame = read(job.table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of singular fits, which are an answer here
        found = {
            str(label): variances(own, job.interaction) for label, own in frame.groupby("model")
        }
    names = next(iter(found.values()))
    sds = {name: [np.sqrt(one[name]) for one in found.values()] for name in names}
    settings = {"python": platform.python_version(), "statsmodels": statsmodels.__version__}
    write_point(job.out, list(found), sds, settings)


if __name__ == "__main__":
    main()
