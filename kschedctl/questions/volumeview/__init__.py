"""Overviews of claims, for ``volumes``: the volume that each has or would get, and the zones that it ties pods to."""
