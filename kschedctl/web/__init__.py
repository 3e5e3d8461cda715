"""The server of ``serve``: pages and a JSON API over one cluster, computed in worker processes."""
