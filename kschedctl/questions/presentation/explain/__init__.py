"""The document of ``explain``."""
