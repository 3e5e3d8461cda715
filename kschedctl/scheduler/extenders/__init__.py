"""Extenders over HTTP: kube-scheduler's requests, its decoding of responses, and its error messages."""
