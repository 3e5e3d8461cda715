"""``drain``: nodes drained as by ``kubectl drain``, the new places of their pods, and cures for blocked drains."""
