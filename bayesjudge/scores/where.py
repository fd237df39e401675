"""The row filter ``where=``: comparisons of columns with values, and nothing else.

The expression is parsed and evaluated here, node by node; nothing of it is handed to Python's or
pandas' evaluators, so it can reach no variable, attribute or function.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.scores.labels import texts_of
from bayesjudge.wording import counted, did_you_mean, quoted

BoolArray = npt.NDArray[np.bool_]
Constant = str | int | float
Lookup = Callable[[str], pd.Series]

LONGEST = 2_000  # characters
_ALLOWED = (
    "Allowed are comparisons of columns with texts and numbers (== != < <= > >=), "
    "in and not in with a list, and, or, not and brackets; for example "
    "where=\"axis == 'correctness' and turn in [1, 2]\". Write column names that are not single "
    "words between backticks."
)
_TEXT_OR_BACKTICK = re.compile(
    r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|`([^`]+)`""",
    re.DOTALL,
)
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def rows_where(frame: pd.DataFrame, expression: str, renamed: dict[str, str]) -> BoolArray:
    """Say which rows an expression keeps.

    Parameters
    ----------
    frame : DataFrame
        Columns by the names of the file.
    expression : str
        Such as ``"axis == 'correctness'"``.
    renamed : dict of str to str
        Names of the file to ours; both can be used in the expression.

    Returns
    -------
    bool array of shape (rows,)

    Raises
    ------
    ScoreError
        If the expression holds anything but comparisons, or names an unknown column.
    """
    if not isinstance(expression, str):
        raise ScoreError(f"where= must be text, not {type(expression).__name__}. {_ALLOWED}")
    if len(expression) > LONGEST:
        raise ScoreError(f"where= is {len(expression):,} characters long; {LONGEST:,} are allowed.")
    swapped, backticked = _swap_backticks(expression)
    ours = {our: theirs for theirs, our in renamed.items()}

    def column(name: str) -> pd.Series:
        wanted = backticked.get(name, name)
        found = wanted if wanted in frame.columns else ours.get(wanted)
        if found is None:
            raise ScoreError(
                f"where={expression!r} names the column {wanted!r}, which is not in the table."
                f"{did_you_mean(wanted, frame.columns)} The columns are {quoted(frame.columns)}."
                f" (A text to compare with stands in quotes: '{wanted}'.)"
            )
        return frame[found]

    try:
        tree = ast.parse(swapped.strip(), mode="eval")
        return _evaluate(tree.body, column)
    except _NotAllowedError as found:
        raise ScoreError(f"where={expression!r} can't be used: {found}. {_ALLOWED}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, ScoreError):
            raise
        raise ScoreError(f"where={expression!r} can't be read. {_ALLOWED}") from None


def filter_notes(expression: str, kept: int, rows: int) -> list[str]:
    """Say how many rows a filter left out; refuse one that leaves none."""
    if not kept:
        raise ScoreError(
            f"where={expression!r} leaves none of {counted(rows, 'row')}; check the values "
            "that it compares with."
        )
    return [f"where={expression!r} left out {rows - kept:,} of {counted(rows, 'row')}."]


class _NotAllowedError(Exception):
    """Part of an expression that is no comparison; the text says which."""


def _swap_backticks(expression: str) -> tuple[str, dict[str, str]]:
    names: dict[str, str] = {}

    def swap(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]  # a quoted text may hold backticks of its own
        placeholder = f"_column_{len(names)}_"
        names[placeholder] = match[2]
        return placeholder

    return _TEXT_OR_BACKTICK.sub(swap, expression), names


def _evaluate(node: ast.expr, column: Lookup) -> BoolArray:
    if isinstance(node, ast.BoolOp):
        parts = node.values  # noqa: PD011  (of the syntax tree, not of a frame)
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return reduce(combine, [_evaluate(part, column) for part in parts])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_evaluate(node.operand, column)
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        pairs = zip(operands, node.ops, operands[1:], strict=False)
        return reduce(np.logical_and, [_holds(*pair, column) for pair in pairs])
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        raise _NotAllowedError("write and, or, not in place of &, |, ~")
    raise _NotAllowedError(f"{ast.unparse(node)} is not a comparison")


def _holds(left: ast.expr, op: ast.cmpop, right: ast.expr, column: Lookup) -> BoolArray:
    """Evaluate one comparison."""
    if isinstance(op, (ast.In, ast.NotIn)):
        if not isinstance(left, ast.Name) or not isinstance(right, (ast.List, ast.Tuple)):
            raise _NotAllowedError(
                "in needs a column on its left and a list of values on its right"
            )
        values = column(left.id)
        equal = [_compare(values, ast.Eq, _constant(item)) for item in right.elts]
        member = reduce(np.logical_or, equal, np.zeros(len(values), dtype=bool))
        return ~member if isinstance(op, ast.NotIn) else member
    if type(op) not in _COMPARE:
        raise _NotAllowedError("is and is not are no comparisons of values")
    sides = [column(s.id) if isinstance(s, ast.Name) else _constant(s) for s in (left, right)]
    if not any(isinstance(side, pd.Series) for side in sides):
        raise _NotAllowedError(f"{ast.unparse(left)} and {ast.unparse(right)} are both values")
    return _compare(sides[0], type(op), sides[1])


def _constant(node: ast.expr) -> Constant:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _constant(node.operand)
        if not isinstance(value, (str, bool)):
            return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float)):
        return node.value
    raise _NotAllowedError(f"{ast.unparse(node)} is neither a column nor a text or number")


def _compare(
    left: pd.Series | Constant, op: type[ast.cmpop], right: pd.Series | Constant
) -> BoolArray:
    view = _view(left, op, right)
    return np.asarray(_COMPARE[op](view(left), view(right)), dtype=bool)


def _view(
    left: pd.Series | Constant, op: type[ast.cmpop], right: pd.Series | Constant
) -> Callable[[pd.Series | Constant], object]:
    """Choose how both sides are seen: the value decides, since columns of a CSV are all text."""
    values = [side for side in (left, right) if not isinstance(side, pd.Series)]
    if not values:
        return _as_text if op in (ast.Eq, ast.NotEq) else _as_number
    if isinstance(values[0], bool):
        return _as_folded_text
    return _as_text if isinstance(values[0], str) else _as_number


def _as_text(side: pd.Series | Constant) -> object:
    if not isinstance(side, pd.Series):
        return str(side)
    try:
        return texts_of(side)
    except TypeError:
        raise _NotAllowedError(
            f"the column {side.name!r} holds lists or other structures"
        ) from None


def _as_folded_text(side: pd.Series | Constant) -> object:
    found = _as_text(side)
    if isinstance(found, str):
        return found.casefold()
    return np.array([str(text).casefold() for text in np.asarray(found)], dtype=object)


def _as_number(side: pd.Series | Constant) -> object:
    if not isinstance(side, pd.Series):
        return float(side)
    if pd.api.types.is_numeric_dtype(side.dtype) and side.dtype.kind != "c":
        return side.to_numpy(dtype=np.float64, na_value=np.nan)
    texts = pd.Series(np.asarray(_as_text(side)), dtype=object)
    return pd.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64)
