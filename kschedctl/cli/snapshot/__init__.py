"""``kschedctl snapshot``: a cluster into files, and what is in such files."""
