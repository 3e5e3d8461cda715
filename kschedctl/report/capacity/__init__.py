"""The answer of ``capacity``: as data, and as a document."""
