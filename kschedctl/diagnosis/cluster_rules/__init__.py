"""The rules about a cluster: each yields the problems that it finds. The table has the order of importance."""

from __future__ import annotations

from typing import Final

#: The modules of the rules, beside this file; ``check`` in each yields the problems.
RULES: Final[tuple[str, ...]] = (
    "idle_control_plane",
    "refused_pods",
    "ordinal_waits",
    "unstarted_pods",
    "lost_nodes",
    "stuck_deletions",
    "sick_components",
)
