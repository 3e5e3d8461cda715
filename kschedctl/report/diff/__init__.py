"""The answer of ``diff``: as data, and as a document."""
