"""The answer of ``volumes``: as data, and as a document."""
