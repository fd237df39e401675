"""Measurements of speed and memory. Nothing here is imported by the package or run by the tests."""
