"""Analyses: one function per question about a loaded cluster; a typed request goes in, an answer comes out."""
