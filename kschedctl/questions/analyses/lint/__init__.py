"""``lint``: the problems in manifests."""
