"""The kinds of objects that an answer depends on, and those that a snapshot does not have."""
