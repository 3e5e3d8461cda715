"""The best placement of all waiting pods at once, found by a solver and put through the real filters."""
