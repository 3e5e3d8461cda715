"""``kschedctl leader``: leader elections, their simulation, and a command that runs only while leading."""
