"""Rendering: the forms of output, one module each."""
