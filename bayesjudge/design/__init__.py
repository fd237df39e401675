"""The design of a score table: facets, balance, connectedness, and what is identifiable."""
