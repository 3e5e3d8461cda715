"""``kschedctl leader``: who leads, what happens when they die, and a command that runs only while leading."""
