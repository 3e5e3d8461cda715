"""Validation of new objects as an API server does it, with its messages in its order, without access to a cluster."""
