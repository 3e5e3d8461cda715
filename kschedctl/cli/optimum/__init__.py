"""``kschedctl optimum``: the best placement of all waiting pods at once."""
