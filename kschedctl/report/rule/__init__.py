"""What ``kschedctl rule`` prints."""
