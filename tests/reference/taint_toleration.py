"""Reference of TaintToleration: node by node."""

from collections.abc import Sequence

from kschedctl.objects.core import Node, Taint
from kschedctl.objects.pod import Pod


def tolerated(pod: Pod, taint: Taint) -> bool:
    """Report whether one of the pod's tolerations matches a taint."""
    for toleration in pod.spec.tolerations:
        if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
            continue
        if toleration.operator == "Exists" or toleration.value == taint.value:
            return True
    return False


def fits(pod: Pod, node: Node) -> bool:
    """Report whether the pod tolerates all NoSchedule and NoExecute taints."""
    return all(tolerated(pod, taint) for taint in node.spec.taints if taint.effect != "PreferNoSchedule")


def scores(pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
    """Return the normalized score by node."""
    counts = {}
    for node in nodes:
        soft = [taint for taint in node.spec.taints if taint.effect == "PreferNoSchedule"]
        counts[node.name] = len([taint for taint in soft if not tolerated(pod, taint)])
    most = max(counts.values())
    return {name: 100 - (100 * count // most if most else 0) for name, count in counts.items()}
