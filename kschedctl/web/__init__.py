"""The servers of ``serve`` and ``mcp``: pages, a JSON API and tools of assistants, computed in worker processes."""
