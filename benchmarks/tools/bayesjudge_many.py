"""bayesjudge on many tables: the file is cut by model, and each fit written to a folder."""

from __future__ import annotations

import json
import tempfile

import bayesjudge as bj
from benchmarks.tools.outcome import task

WORKERS = 2


def main() -> None:
    job = task()
    scores = bj.read_scores(job.table, scale=job.scale, outside="keep")
    # Beside the outcome, where it goes even if this process is ended.
    with tempfile.TemporaryDirectory(dir=job.out.parent) as folder:
        found = bj.fit_many(
            bj.groups(scores, "model"),
            folder,
            workers=WORKERS,
            seed=job.seed,
            engine="psis",
            model="linear" if job.interaction else "linear-paper",
        )
    outcome = {
        "kind": "fits",
        "fits": int((found["status"] == "fitted").sum()),
        "not_fitted": int((found["status"] != "fitted").sum()),
        "passed": int((found["verdict"] == "passed").sum()),
        "settings": {"engine": "psis", "workers": WORKERS},
    }
    job.out.write_text(json.dumps(outcome), encoding="utf-8")


if __name__ == "__main__":  # the pool's processes import this file
    main()
