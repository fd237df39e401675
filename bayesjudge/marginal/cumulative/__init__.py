"""The cumulative-link model: marginal likelihood on a lattice, draws of latents, score scale."""
