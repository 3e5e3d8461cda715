"""The names of all fields of the Kubernetes API, and what of a manifest is none of them."""
