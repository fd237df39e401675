"""Engines: from a layout to draws of its standard deviations, and what to think of them."""
