"""The answer of ``simulate``: as data, and as a document."""
