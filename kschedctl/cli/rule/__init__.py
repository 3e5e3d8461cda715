"""``kschedctl rule``: the pages of the rules of lint."""
