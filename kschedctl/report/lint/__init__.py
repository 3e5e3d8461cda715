"""What ``kschedctl lint`` prints."""
