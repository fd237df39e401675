"""The likelihood of ordinal scores as one PyTensor operation with an analytic gradient.

The statistics are inputs and not part of the node: a table of the same shape needs no new
compilation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_dispatch

from bayesjudge.marginal.compiling import source_digest
from bayesjudge.marginal.cumulative.likelihood import value_and_gradient


class CumulativeMarginal(Op):  # type: ignore[misc]
    """From thresholds, standard deviations and tallies to a log likelihood and its gradient.

    The gradient is in thresholds and standard deviations; the other inputs are data.
    """

    __props__ = ("link",)

    def __init__(self, link: int) -> None:
        """Set the link: `lattice.LOGIT` or `lattice.PROBIT`."""
        self.link = link

    def make_node(self, thresholds: Any, sigma: Any, *data: Any) -> Apply:
        """Type the node.

        Parameters
        ----------
        thresholds : tensor3, shape (models, judges, levels - 1)
            Of each judge, less its offset and the model's mean (latent).
        sigma : matrix, shape (models, 2)
            Standard deviations of scenario and generation (latent).
        *data : tensors
            The fields of `bayesjudge.marginal.cumulative.tallies.Tallies`, and the reach within
            which to integrate at first, shape (models,).
        """
        inputs = [pt.as_tensor_variable(x) for x in (thresholds, sigma, *data)]
        return Apply(self, inputs, [pt.dscalar(), pt.dtensor3(), pt.dmatrix()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        """Evaluate outside of a compiled graph."""
        value, in_thresholds, in_sigma, _ = value_and_gradient(self.link, *inputs)
        output_storage[0][0] = np.asarray(value)
        output_storage[1][0], output_storage[2][0] = in_thresholds, in_sigma

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        """Give the gradient of the value; that of the gradient is never asked for."""
        none = [pt.zeros_like(x, dtype="float64") for x in inputs[2:]]
        return [cotangents[0] * outputs[1], cotangents[0] * outputs[2], *none]


@numba_dispatch.register_funcify_default_op_cache_key(CumulativeMarginal)  # type: ignore[untyped-decorator]
def _by_numba(op: CumulativeMarginal, **_: Any) -> Any:
    link = op.link

    @numba_dispatch.numba_njit
    def marginal(thresholds, sigma, *data):  # type: ignore[no-untyped-def]
        value, in_thresholds, in_sigma, _ = value_and_gradient(link, thresholds, sigma, *data)
        return np.asarray(value), in_thresholds, in_sigma

    folder = Path(__file__).parent
    return marginal, source_digest([*folder.glob("*.py"), *folder.parent.glob("*.py")])
