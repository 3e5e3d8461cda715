"""The answer of ``optimum``: as data, and as a document."""
