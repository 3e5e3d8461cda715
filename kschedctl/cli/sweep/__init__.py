"""``kschedctl sweep``: many what-ifs at once."""
