"""leader."""
