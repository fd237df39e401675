"""Estimates without priors: the analysis of variance of balanced tables, and REML for any."""
