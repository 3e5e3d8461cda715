"""Lint: rules over manifests, and over what stands between them; what each says, and where it would stop."""
