"""optimum."""
