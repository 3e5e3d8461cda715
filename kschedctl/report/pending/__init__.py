"""The answer of ``pending``: as data, and as a document."""
