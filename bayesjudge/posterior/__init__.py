"""What a fit says: components, effects, panel means, offsets, and how they compare."""
