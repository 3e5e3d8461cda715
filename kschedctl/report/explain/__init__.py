"""The answer of ``explain``: as data, and as a document."""
