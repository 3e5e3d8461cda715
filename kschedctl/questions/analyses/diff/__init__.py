"""``diff``: the differences between two clusters for the same pods."""
