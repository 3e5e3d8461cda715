"""``kschedctl capacity``: how many copies more fit."""
