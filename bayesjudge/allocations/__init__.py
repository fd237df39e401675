"""What the ways to spend judge calls cost in variance."""
