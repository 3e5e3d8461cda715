"""Requests: from paths, names and selectors to a loaded cluster and the pods that a question is about."""
