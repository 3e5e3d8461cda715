"""The DefaultTolerationSeconds admission plugin.

Pods stay for 300 seconds on nodes that are not ready or unreachable, unless they set their own tolerations.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kschedctl.objects.pod import NO_EXECUTE, Pod, Toleration

_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS: Final = 300
#: The added tolerations, in the order in which they are appended.
DEFAULT_TOLERATIONS: Final = tuple(
    Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=_SECONDS) for key in _TAINTS
)


def admit_tolerations(pod: Pod) -> Pod:
    """Add the default tolerations that a pod lacks."""
    own = pod.spec.tolerations
    missing = [
        added
        for added in DEFAULT_TOLERATIONS
        if not any(t.key in ("", added.key) and t.effect in ("", NO_EXECUTE) for t in own)
    ]
    return replace(pod, spec=replace(pod.spec, tolerations=(*own, *missing))) if missing else pod
