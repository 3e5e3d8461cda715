"""``kschedctl volumes``: claims, their volumes, and where these tie pods to."""
