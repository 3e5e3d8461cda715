"""Devices: pools and their slices, claims, CEL selectors, and the scheduler's allocator over all nodes at once."""
