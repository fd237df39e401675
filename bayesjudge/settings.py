"""Numbers that several parts must agree on, in one place."""

from __future__ import annotations

# Probability of every reported interval (equal tails), unless a call says otherwise.
INTERVAL_PROB = 0.95

# A fit that misses one of these is marked wherever it appears (Vehtari, Gelman, Simpson,
# Carpenter and Bürkner, 2021, for R-hat and ESS; Betancourt, 2016, for BFMI).
RHAT_MAX = 1.01
ESS_PER_CHAIN_MIN = 100
BFMI_MIN = 0.3

# Of an ordinal fit's total log likelihood, between its lattice and one of twice as many nodes.
LATTICE_ERROR_MAX = 1e-3

# Up to this many scores, a fit's tree holds the scores themselves beside their statistics.
OBSERVED_LIMIT = 1_000_000
