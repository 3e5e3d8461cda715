"""The best placement of all pending pods at once, found by a solver and verified by the real filters."""
