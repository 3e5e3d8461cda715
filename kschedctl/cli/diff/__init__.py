"""``kschedctl diff``: what changes for pods between two sides."""
