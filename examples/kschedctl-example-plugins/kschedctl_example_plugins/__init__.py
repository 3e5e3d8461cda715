"""Two plugins for kschedctl, to be copied."""
