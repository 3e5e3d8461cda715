"""Findings: problems of fields of objects, with a hint for each, as data that errors carry."""
