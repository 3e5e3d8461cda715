"""Labels and taints of control-plane nodes, present and former ones."""

from __future__ import annotations

from typing import Final

from kschedctl.linter.pods import WorkloadPods
from kschedctl.objects.pod import NO_SCHEDULE

MASTER: Final = "node-role.kubernetes.io/master"
CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
#: Similar keys that are not the control-plane key: the one of RKE, and a common mistake.
NEAR_MISSES: Final = ("node-role.kubernetes.io/controlplane", "node-role.kubernetes.io/control_plane")


def tolerates_master_only(pods: WorkloadPods) -> int | None:
    """Return the index of a toleration of the former taint if none tolerates the present one, else ``None``."""
    for index, part in enumerate(pods.tolerations):
        one = part.value
        if one is None or one.key != MASTER:
            continue
        if not pods.tolerates(CONTROL_PLANE, one.effect or NO_SCHEDULE):
            return index
    return None
