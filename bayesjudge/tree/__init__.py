"""A fit is a tree in ArviZ's layout: its groups, put together, saved and loaded."""

from bayesjudge.tree.storage import load, problems, require_fit, save

__all__ = ["load", "problems", "require_fit", "save"]
