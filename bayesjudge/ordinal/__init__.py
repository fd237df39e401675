"""The ordinal model: a cumulative-link specification laid on a table, as a posterior density."""
