"""YAML and JSON text: documents, values with their positions, and syntax errors."""
