"""Rendering: the output formats, one module each."""
