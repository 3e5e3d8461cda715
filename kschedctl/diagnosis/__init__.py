"""Causes of a pending pod, and cures that were tried."""
