"""The answer of ``preempt``: as data, and as a document."""
