"""KS7xx: rules about pod groups."""
