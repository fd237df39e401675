"""bayesjudge by importance sampling: what it takes a second or two for.

Where importance sampling can't be trusted the fit is by NUTS after all, and what is written says
so.
"""

from __future__ import annotations

import bayesjudge as bj
from benchmarks.tools.bayesjudge_nuts import spreads
from benchmarks.tools.outcome import task, write, write_weighted


def main() -> None:
    job = task()
    scores = bj.read_scores(job.table, scale=job.scale, outside="keep")
    linear = "linear" if job.interaction else "linear-paper"
    tree = bj.fit(scores, model=linear, engine="psis", seed=job.seed)
    settings = {name: tree.attrs[name] for name in ("engine", "sampler", "chains", "draws")}
    models = [str(label) for label in tree["posterior"]["model"].to_numpy()]
    draws = spreads(bj.components(tree))
    if tree.attrs["engine"] == "psis":
        ess, k_hat = float(tree.attrs["importance_ess"]), float(tree.attrs["k_hat"])
        write_weighted(job.out, models, draws, ess, k_hat, settings)
    else:
        write(job.out, models, draws, int(tree.attrs["divergences"]), settings)


if __name__ == "__main__":
    main()
