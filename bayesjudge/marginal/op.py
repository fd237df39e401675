"""The likelihood of unbalanced tables as one PyTensor operation with an analytic gradient.

A graph of many small Cholesky factors takes PyTensor a minute to compile and samples slowly.
NumPy evaluates the same formula at once, so the graph holds a single node.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_dispatch

from bayesjudge.marginal.gaussian import Prior, by_term, value_and_gradient
from bayesjudge.marginal.patterns import Patterns

FloatArray = NDArray[np.float64]
_COLUMNS = 5  # scenario, generation, judge, scenario:judge, generation:judge


def value_and_rows(
    tables: Sequence[tuple[Patterns, NDArray[np.int64]]], prior: Prior, variances: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log marginal likelihood of several models, and its gradient.

    Parameters
    ----------
    tables : sequence of (Patterns, int array)
        Statistics of each model, and the positions of its judges in the table.
    prior : Prior
        Normal prior of the panel means (score).
    variances : float array, shape (models, 5 + judges)
        Variances in the order of `bayesjudge.terms.TERMS`, residuals by judge of the table
        (score²).

    Returns
    -------
    float array, shape ()
        The sum over models.
    float array, shape (models, 5 + judges)
        Its gradient.
    """
    total, gradient = 0.0, np.zeros_like(variances)
    for row, slope, (stats, judge_ids) in zip(variances, gradient, tables, strict=True):
        v = by_term(row[:_COLUMNS], row[_COLUMNS + judge_ids])
        value, d = value_and_gradient(stats, v, prior)
        total += value
        slope[:_COLUMNS] = d.scenario, d.generation, d.judge, d.interaction, d.cell
        slope[_COLUMNS + judge_ids] = d.residual
    return np.asarray(total), gradient


class GaussianMarginal(Op):  # type: ignore[misc]
    """`value_and_rows` as an operation: from a matrix of variances to a value and its gradient."""

    __props__ = ()

    def __init__(self, tables: Sequence[tuple[Patterns, NDArray[np.int64]]], prior: Prior) -> None:
        self.tables = tuple(tables)
        self.prior = prior

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def make_node(self, variances: Any) -> Apply:
        """Type the node: a matrix in, a scalar and a matrix out."""
        variances = pt.as_tensor_variable(variances)
        return Apply(self, [variances], [pt.dscalar(), pt.dmatrix()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        """Evaluate by NumPy."""
        value, gradient = value_and_rows(self.tables, self.prior, inputs[0])
        output_storage[0][0], output_storage[1][0] = value, gradient

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        """Give the gradient of the value; that of the gradient is never asked for."""
        return [cotangents[0] * outputs[1]]


@numba_dispatch.numba_funcify.register(GaussianMarginal)  # type: ignore[untyped-decorator]
def _by_numba(op: GaussianMarginal, node: Any = None, **_: Any) -> Any:
    """Call back into NumPy from compiled code: on purpose, so without the warning about it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Numba will use object mode")
        return numba_dispatch.generate_fallback_impl(op, node)
