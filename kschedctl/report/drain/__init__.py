"""The answer of ``drain``: as data, and as a document."""
