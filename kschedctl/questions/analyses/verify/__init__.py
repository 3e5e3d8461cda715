"""``verify``: the answers of this program beside those of the cluster's own scheduler."""
