"""Marginal likelihoods: every effect that can be integrated out in closed form, is.

`strata` holds for balanced tables, `patterns` for all; `op` hands the second to PyTensor.
"""
