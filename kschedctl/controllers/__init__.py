"""What admission and the controllers of a cluster make of objects."""
