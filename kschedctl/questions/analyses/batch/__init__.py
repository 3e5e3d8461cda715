"""``batch``: recorded cases and sequences, each decided by itself."""
