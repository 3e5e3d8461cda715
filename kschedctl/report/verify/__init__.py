"""The answer of ``verify``: as data, and as a document."""
