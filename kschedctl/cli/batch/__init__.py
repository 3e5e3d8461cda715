"""``kschedctl batch``: many cases at once, JSON Lines in and out."""
