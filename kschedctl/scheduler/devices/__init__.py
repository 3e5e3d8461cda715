"""Dynamic resource allocation: pools and slices, claims, CEL selectors, and the allocator for all nodes at once."""
