"""The answer of ``batch``: as data, and as a document."""
