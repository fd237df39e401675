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

# Up to this many numbers (draws times scenarios), a linear fit's tree holds the log likelihood of
# each scenario, which only leave-one-scenario-out needs.
LOG_LIKELIHOOD_LIMIT = 20_000_000

# A linear fit is good enough beside an ordinal one where all their variance components differ by
# no more than the first, in parts of the total variance (a share that moves by five points leads
# to no other reading), or the second, in posterior sds of both together (an estimate that is off by
# half an sd leaves its 95% interval a coverage of 92%). Farther apart than the third, chance is no
# explanation: of ten tables drawn from the ordinal model, with 70% of scores at the top, the fits
# differed by no more than one such sd on any component of more than a twentieth of the total.
LINEAR_SHARE_MAX = 0.05
LINEAR_SD_MAX = 0.5
FITS_APART_SD = 2.0

# With more than this part of all scores at one end of the scale there is a floor or a ceiling
# (McHorney and Tarlov, 1995; Terwee et al., 2007).
END_SHARE_MAX = 0.15
