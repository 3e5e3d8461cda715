"""For people who write plugins: a contract that every plugin must keep, checked over sample clusters."""
