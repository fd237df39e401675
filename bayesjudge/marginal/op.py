"""The likelihood of unbalanced tables as one PyTensor operation with an analytic gradient.

A graph of many small Cholesky factors takes PyTensor a minute to compile and samples slowly, so
the graph holds a single node that calls `compiled.value_and_gradient`. The statistics are inputs
and not part of the node: a table of the same shape needs no new compilation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_dispatch

from bayesjudge.marginal.compiled import value_and_gradient
from bayesjudge.marginal.compiling import source_digest


class GaussianMarginal(Op):  # type: ignore[misc]
    """From variances, prior and packed statistics to a log likelihood and its gradient.

    The gradient is in the variances; the other inputs are data.
    """

    __props__ = ()

    def make_node(self, variances: Any, prior: Any, *packed: Any) -> Apply:
        """Type the node.

        Parameters
        ----------
        variances : matrix, shape (models, 5 + judges)
            In the order of `bayesjudge.terms.TERMS`, residuals by judge of the table (score²).
        prior : vector, shape (2,)
            Mean and standard deviation of the panel mean's Normal prior (score).
        *packed : tensors
            The fields of `bayesjudge.marginal.packed.Packed`.
        """
        inputs = [pt.as_tensor_variable(x) for x in (variances, prior, *packed)]
        return Apply(self, inputs, [pt.dscalar(), pt.dmatrix()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        """Evaluate outside of a compiled graph."""
        value, gradient = value_and_gradient(*inputs)
        output_storage[0][0], output_storage[1][0] = np.asarray(value), gradient

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        """Give the gradient of the value; that of the gradient is never asked for."""
        data = [pt.zeros_like(x, dtype="float64") for x in inputs[1:]]
        return [cotangents[0] * outputs[1], *data]


@numba_dispatch.register_funcify_default_op_cache_key(GaussianMarginal)  # type: ignore[untyped-decorator]
def _by_numba(op: GaussianMarginal, **_: Any) -> Any:
    @numba_dispatch.numba_njit
    def marginal(variances, prior, *packed):  # type: ignore[no-untyped-def]
        value, gradient = value_and_gradient(variances, prior, *packed)
        return np.asarray(value), gradient

    return marginal, source_digest(Path(__file__).parent.glob("*.py"))
