"""What every room uses: errors, findings, texts of YAML and JSON, arrays, clocks and processes."""
