"""Rendering: a decision goes in, text or data comes out. Nothing is computed here."""
