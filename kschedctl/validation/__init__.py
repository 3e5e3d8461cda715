"""What an API server refuses of an object that is created, in its words and order; no cluster is asked."""
