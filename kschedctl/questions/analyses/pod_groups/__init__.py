"""Answers about pod groups, as parts of the answers of several commands."""
