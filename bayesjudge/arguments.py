"""Refusals of arguments that several functions have alike."""

from __future__ import annotations

from typing import Any

from bayesjudge.errors import BayesJudgeError


def require_whole(
    name: str,
    value: Any,
    least: int,
    because: str = "",
    error: type[BayesJudgeError] = BayesJudgeError,
) -> int:
    """Return a whole number of at least so many, or refuse it.

    Parameters
    ----------
    name : str
        What it is, as in the call.
    value
        What was given.
    least : int
        The least that is allowed.
    because : str
        Why, for the message.
    error : type
        What is raised.
    """
    try:
        whole = int(value) if not isinstance(value, bool | str) else None
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or whole != value or whole < least:
        raise error(f"{name} = {value!r} must be a whole number of at least {least}{because}.")
    return whole
