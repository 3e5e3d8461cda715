"""The DefaultTolerationSeconds admission plugin.

Pods stay for five minutes on nodes that are not ready or cannot be reached, unless they say otherwise.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kschedctl.api.pod import Pod, Toleration
from kschedctl.api.tolerations import NO_EXECUTE

_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS: Final = 300


def admit_tolerations(pod: Pod) -> Pod:
    """Add the tolerations that a pod lacks."""
    own = pod.spec.tolerations
    missing = [key for key in _TAINTS if not any(t.key in ("", key) and t.effect in ("", NO_EXECUTE) for t in own)]
    if not missing:
        return pod
    added = [Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=_SECONDS) for key in missing]
    return replace(pod, spec=replace(pod.spec, tolerations=(*own, *added)))
