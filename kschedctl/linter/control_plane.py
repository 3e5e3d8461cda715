"""Labels and taints of control-plane nodes, today's and those before."""

from __future__ import annotations

from typing import Final

from kschedctl.api.tolerations import NO_SCHEDULE
from kschedctl.linter.pods import Pods

MASTER: Final = "node-role.kubernetes.io/master"
CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
#: What RKE calls it, and people write.
NEAR_MISSES: Final = ("node-role.kubernetes.io/controlplane", "node-role.kubernetes.io/control_plane")


def tolerates_master_only(pods: Pods) -> int | None:
    """Which toleration is of the old taint while nothing tolerates today's with the same effect; else ``None``."""
    for index, part in enumerate(pods.tolerations):
        one = part.value
        if one is None or one.key != MASTER:
            continue
        if not pods.tolerates(CONTROL_PLANE, one.effect or NO_SCHEDULE):
            return index
    return None
