"""``kschedctl explain``: where a pod goes, or why it cannot."""
