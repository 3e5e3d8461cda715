"""volumes."""
