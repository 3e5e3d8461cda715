"""Trials: the effects of a change, and of time."""
