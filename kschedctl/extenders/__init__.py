"""Extenders over HTTP: what kube-scheduler sends, what it makes of answers, and its words for failures."""
