"""The answer of ``snapshot info``: as data, and as a document."""
