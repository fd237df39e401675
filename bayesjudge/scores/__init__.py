"""The validated score table, and every step from a table as found to it."""

from bayesjudge.scores.scale import Scale
from bayesjudge.scores.table import Calls, ScoreTable, require_table

__all__ = ["Calls", "Scale", "ScoreTable", "require_table"]
