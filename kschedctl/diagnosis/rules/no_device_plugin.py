"""Nodes that have the devices which the pod requests, and do not offer them, because no device plugin reports them.

A device plugin tells the kubelet the devices of its node. Until it runs and finds them, the node offers none of the
resource, whatever hardware it has. Labels, the machine type and a reported amount of 0 are the signs of the hardware.
Operators install or repair the device plugin, or the operator that installs it, with the driver that it needs. A pod
without its request would start and fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.device_nodes import VENDORS, device_sign, plugin_state
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.extended_resources import offers_of_vendor, requested_devices
from kschedctl.diagnosis.rules.mistyped_resource import intended
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.objects.core import Node
from kschedctl.objects.resources import exact_quantity
from kschedctl.scheduler.framework.remedy import Remedy, RemedyScope, Risk, add_operation, patched
from kschedctl.scheduler.plugins.taint_toleration import taint_remedies, untolerated_taint

#: At most 3 nodes are named.
_MOST: Final = 3
#: The labels of at most 5,000 nodes are searched for signs of devices.
_SEARCHED: Final = 5000


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the resource that nodes with such devices do not offer."""
    for resource in requested_devices(situation):
        offering = situation.in_reach & (situation.offered(resource) > 0)
        if (offering & ~situation.short_of(resource)).any() or intended(situation, resource):
            continue
        silent = situation.in_reach & (situation.offered(resource) == 0)
        signs = {} if offers_of_vendor(situation, resource, silent) else _signs(situation, resource, silent)
        if signs:
            yield _without_plugin(situation, resource, signs, offering)
        elif not offering.any() and silent.all():
            yield _nowhere(situation, resource, offers_of_vendor(situation, resource, silent))


def _signs(situation: Situation, resource: str, silent: Mask) -> dict[int, str]:
    """Return the rows of nodes with a sign of the devices, with the sign."""
    objects = situation.cluster.nodes.objects
    found = {row: device_sign(objects[row], resource) for row in all_rows(silent)[:_SEARCHED]}
    return {row: sign for row, sign in found.items() if sign}


def _without_plugin(situation: Situation, resource: str, signs: dict[int, str], offering: Mask) -> Diagnosis:
    cluster = situation.cluster
    row, sign = next(iter(signs.items()))
    installed, state = plugin_state(cluster, resource, row)
    names = [cluster.nodes.names[each] for each in signs]
    offer = "offers" if len(names) == 1 else "offer"
    others = int(situation.in_reach.sum()) - len(signs) - int(offering.sum())
    rest = [obstacles_on(situation, offering)] if offering.any() else []
    if others:
        rest.append(f"{counted(others, 'other node')} {'shows' if others == 1 else 'show'} no such device")
    shown = listed(names, most=_MOST)
    return Diagnosis(
        rule="no-device-plugin",
        cause=together(situation, f"{shown} ({sign}) {offer} no {resource}: {state}", *rest),
        evidence=tuple(_other_reasons(situation, row)),
        remedies=tuple(
            _offering(situation, cluster.nodes.objects[each], resource, within, installed=installed)
            for within, each in enumerate(list(signs)[:_MOST])
        ),
        checks=(
            f"kubectl describe node {names[0]}",
            f"kubectl get pods -A -o wide --field-selector spec.nodeName={names[0]}",
        ),
    )


def _other_reasons(situation: Situation, row: int) -> Iterator[str]:
    """Yield what keeps the pod away from a node apart from resources."""
    for plugin, said in situation.decision.verdict(row).reasons:
        for reason in said if plugin != "NodeResourcesFit" else ():
            words = reason.operands.words() if reason.operands is not None else reason.text
            yield f"{situation.cluster.nodes.names[row]}, once it offers the devices: {words}"


def _offering(situation: Situation, node: Node, resource: str, within: int, *, installed: bool) -> Remedy:
    """Return the repair of the device plugin: the node offers what the pod requests."""
    amount = exact_quantity(resource, situation.requests[resource])
    patch = (
        add_operation({**node.status.allocatable, resource: amount}, "status", "allocatable"),
        add_operation({**node.status.capacity, resource: amount}, "status", "capacity"),
    )
    vendor = VENDORS.get(resource.partition("/")[0], "")
    plugin = f"{vendor} device plugin" if vendor else f"device plugin of {resource}"
    summary = (
        f"{'repair' if installed else 'install or repair'} the {plugin} so that {node.name} offers {amount} {resource}"
    )
    tolerated = _toleration(situation, node)
    return Remedy(
        summary=f"{summary}, and {tolerated.summary}" if tolerated is not None else summary,
        scope=RemedyScope.NODE,
        changes=(patched(node, *patch), *(tolerated.changes if tolerated is not None else ())),
        risk=Risk.MISTAKE,
        family="device plugin",
        within=within,
        once=True,
        command=f"# {summary}",
    )


def _toleration(situation: Situation, node: Node) -> Remedy | None:
    """Return the toleration of the taint that reserves a node for its devices, if the pod does not tolerate it."""
    taint = untolerated_taint(node.spec.taints, situation.pod.spec.tolerations)
    if taint is None:
        return None
    row = situation.cluster.nodes.row[node.name]
    found = next(taint_remedies(situation.context(row), taint), None)
    return found if found is not None and found.scope is RemedyScope.POD else None


def _nowhere(situation: Situation, resource: str, others: list[str]) -> Diagnosis:
    """Return the diagnosis of a cluster without a sign of such a device, except for others of the vendor."""
    if others:
        return Diagnosis(
            rule="device-not-offered",
            cause=f"no node offers {resource}; nodes offer {listed(others)} of the same vendor",
            advice=(
                Advice(
                    summary=f"configure the device plugin so that a node offers {resource}",
                    risk=Risk.MISTAKE,
                    untried="the snapshot does not show how the devices can be divided",
                ),
                Advice(
                    summary=f"request {listed(others, 'or')} instead of {resource}, if that part of a device suffices",
                    risk=Risk.REDUCED,
                    untried="the snapshot does not show how much of a device the program needs",
                ),
            ),
        )
    return Diagnosis(
        rule="no-device-node",
        cause=f"no node offers {resource}",
        evidence=("no label and no machine type of a node shows such a device",),
        advice=(
            Advice(
                summary=f"add a node with {resource}, and a device plugin that offers it",
                risk=Risk.CAPACITY,
                untried="the snapshot has no such node",
            ),
        ),
        checks=("kubectl get nodes -o custom-columns='NAME:.metadata.name,OFFERS:.status.allocatable'",),
    )
