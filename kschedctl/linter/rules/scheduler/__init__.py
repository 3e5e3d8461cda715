"""KS6xx: the scheduler's configuration."""
