"""The answer of ``devices``: as data, and as a document."""
