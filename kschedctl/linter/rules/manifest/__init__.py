"""KS9xx: what is given, before anything is asked of it."""
