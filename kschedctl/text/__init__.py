"""YAML and JSON as text: documents, values with their places, and what is wrong with them."""
