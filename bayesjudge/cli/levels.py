"""How well a fit reproduces how often each judge gives each level."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.cli.results import sentences
from bayesjudge.errors import BayesJudgeError

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class LevelCheck:
    """Frequencies by level, and the judges whose a fit does not reproduce; or why there are none.

    `off_scale` is, by evaluated model, what part of the scores that a fit would expect lies beyond
    the ends of the scale.
    """

    frequencies: pd.DataFrame | None
    misfits: tuple[str, ...] = ()
    off_scale: dict[str, float] = field(default_factory=dict)
    refusal: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Turn it into plain values."""
        if self.frequencies is None:
            return {"refusal": self.refusal}
        return {
            "misfits": list(self.misfits),
            "off_scale": self.off_scale,
            "interval": {"kind": "eti", "prob": self.frequencies.attrs["prob"]},
            "judges": self.frequencies.attrs["judges"],
            "frequencies": self.frequencies,
        }


def checked(tree: xr.DataTree) -> LevelCheck:
    """Hold the level frequencies that a fit expects against those of its scores."""
    from bayesjudge.posterior.predictive import level_frequencies

    try:
        found = level_frequencies(tree, seed=int(tree.attrs["seed"]))
    except BayesJudgeError as error:  # the fit took its time: it is shown all the same
        return LevelCheck(None, refusal=str(error))
    return LevelCheck(found, tuple(found.attrs["misfits"]), dict(found.attrs["off_scale"]))


def print_levels(check: LevelCheck, mark: str) -> None:
    """Show the judges whose frequencies the fit does not reproduce, or that there are none."""
    if check.frequencies is None:
        sentences("Level frequencies can't be checked", [check.refusal], "yellow")
        return
    texts = [
        f"{model}: {share:.1%} of the scores that the fit expects lie beyond the ends of the scale."
        for model, share in check.off_scale.items()
        if share > 0
    ]
    if check.misfits:
        title = f"Level frequencies that the fit does not reproduce{mark}"
        sentences(title, [*check.misfits, *texts], "yellow")
    else:
        said = "No judge is shown to give levels more or less often than the fit expects."
        sentences(f"Level frequencies{mark}", [said, *texts])
