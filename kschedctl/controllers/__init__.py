"""Admission and controllers: their effects on objects."""
