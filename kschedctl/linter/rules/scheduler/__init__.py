"""KS6xx: rules about the scheduler's configuration."""
