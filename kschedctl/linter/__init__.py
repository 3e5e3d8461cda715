"""Lint: rules that check manifests and their relations, with the problem and the place where it takes effect."""
