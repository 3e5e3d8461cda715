"""The answers of ``leader``: as data, and as documents."""
