"""``optimum``: the best placement of all pending pods, the nodes to buy, the nodes to empty."""
