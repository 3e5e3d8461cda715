"""The answer of ``rollout``: as data, and as a document."""
