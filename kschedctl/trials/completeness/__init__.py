"""The kinds of objects that an answer depends on, and the kinds that a snapshot lacks."""
