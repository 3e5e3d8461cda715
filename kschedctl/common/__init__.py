"""The foundation of every room: errors, findings, texts of YAML and JSON, arrays, clocks and processes."""
