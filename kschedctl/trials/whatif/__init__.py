"""What-if edits: changes to a cluster and its pods, as data. Applying an edit returns a new cluster or pod."""
