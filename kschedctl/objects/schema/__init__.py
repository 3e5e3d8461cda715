"""The schema of the Kubernetes API: the names and types of all fields, and strict validation against them."""
