"""What happens if something changes, and what happens next."""
