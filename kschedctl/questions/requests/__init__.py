"""Requests: paths, names and selectors, turned into a loaded cluster and the pods that a question is about."""
