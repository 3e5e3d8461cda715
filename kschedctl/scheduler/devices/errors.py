"""The error with which a search for devices ends the scheduling cycle."""

from __future__ import annotations


class AllocationError(Exception):
    """An error that ends the scheduling cycle, in the scheduler's words."""
