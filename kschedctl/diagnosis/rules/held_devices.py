"""Devices of ResourceClaims that are lost to pods: held for pods that have finished, or in pools that are not published."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.components import agent_on
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.objects.device import DeviceClass, ResourceClaim, ResourceSlice
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.devices.explain import NotAllocated, RequestSupply
from kschedctl.scheduler.framework.remedy import Remedy, delete_command, patched, remove_operation
from kschedctl.scheduler.framework.risk import RemedyScope, Risk

_PLUGIN: Final = "DynamicResources"
#: The reasons of at most 50 nodes are looked at; at most 3 nodes, claims and pods are named.
_SAMPLE: Final = 50
_NAMED: Final = 3


def finished_holders(situation: Situation) -> Iterator[Diagnosis]:
    """Devices that a ResourceClaim still holds for a pod which has finished, or which no longer exists.

    A claim is reserved for the pods that use it (``status.reservedFor``). When a pod finishes, the ResourceClaim controller
    takes the pod off, and releases the devices of a claim that nobody uses. If it has not, the devices stay in use although
    nothing runs on them. Operators delete the finished pod, or the claim if the pod is gone, and look at
    kube-controller-manager if it happens again.
    """
    # Yield the claims whose release would give the pod a node.
    if not situation.filtered:
        return
    found: dict[int, list[ResourceClaim]] = {}
    device_class = ""
    for row in all_rows(_only_devices_lack(situation))[:_SAMPLE]:
        operands = [one for one in situation.operands(row, _PLUGIN) if isinstance(one, NotAllocated)]
        lacking = [request for one in operands for request in one.requests if request.lacking]
        claims = _to_release(situation.cluster, lacking) if lacking else []
        if claims:
            found[row] = claims
            device_class = device_class or lacking[0].device_class
    if not found:
        return
    claims = list({claim.key: claim for each in found.values() for claim in each}.values())
    nodes = situation.selected & False
    nodes[list(found)] = True
    users = list(dict.fromkeys(user for claim in claims for user in _users(claim)))
    where = listed([situation.cluster.nodes.names[row] for row in found], most=_NAMED)
    names, one = listed([claim.key for claim in claims], most=_NAMED), len(claims) == 1
    holding = f"claim{'' if one else 's'} {names} {'holds' if one else 'hold'} devices of DeviceClass {device_class} on {where}"
    gone = "which has finished or no longer exists" if len(users) == 1 else "which have finished or no longer exist"
    which = f"{'is' if one else 'are'} still reserved for pod{'s' * (len(users) > 1)} {listed(users, most=_NAMED)}"
    rest = situation.in_reach & ~nodes
    yield Diagnosis(
        rule="devices-of-finished-pods",
        cause=together(situation, f"{holding} and {which}, {gone}", obstacles_on(situation, rest)),
        remedies=tuple(
            _released(situation, row, claims, within)
            for within, (row, claims) in enumerate(list(found.items())[:_NAMED])
        ),
        advice=(
            Advice(
                summary="look at the log of kube-controller-manager, whose ResourceClaim controller is to release such claims",
                risk=Risk.POD,
                untried="the controller releases claims outside the scheduler",
                command="kubectl logs -n kube-system -l component=kube-controller-manager",
            ),
        ),
        checks=tuple(f"kubectl get resourceclaim -n {each.namespace} {each.name} -o yaml" for each in claims[:_NAMED]),
    )


def _only_devices_lack(situation: Situation) -> Mask:
    """Return the nodes within reach that only the allocation of devices keeps the pod away from."""
    others = [plugin for plugin in situation.rejected if plugin != _PLUGIN]
    return situation.in_reach & situation.rejected_by(_PLUGIN) & ~situation.rejected_by(*others)


def _to_release(cluster: Cluster, lacking: Sequence[RequestSupply]) -> list[ResourceClaim]:
    """Return claims of finished pods that hold as many devices as the requests lack; nothing if these are too few."""
    out: list[ResourceClaim] = []
    for request in lacking:
        left = request.lacking
        for holder in request.holders:
            namespace, _, name = holder.claim.partition("/")
            claim = cluster.get(ResourceClaim, name, namespace)
            if left > 0 and claim is not None and _is_left_behind(cluster, claim):
                out.append(claim)
                left -= holder.devices
        if left > 0:
            return []
    return list({claim.key: claim for claim in out}.values())


def _is_left_behind(cluster: Cluster, claim: ResourceClaim) -> bool:
    """Report whether a claim is reserved for pods alone, and none of them runs or waits in the snapshot."""
    users = claim.status.reserved_for
    if not users or not len(cluster.pods) or cluster.is_forbidden(Pod, claim.namespace):
        return False
    for user in users:
        index = cluster.pods.index.get((claim.namespace, user.name))
        uid = cluster.pods.records[index].metadata.uid if index is not None else ""
        if user.resource != "pods" or (index is not None and (not user.uid or not uid or uid == user.uid)):
            return False
    return True


def _users(claim: ResourceClaim) -> list[str]:
    return [f"{claim.namespace}/{user.name}" for user in claim.status.reserved_for]


def _released(situation: Situation, row: int, claims: list[ResourceClaim], within: int) -> Remedy:
    """Return the deletion of the finished pods of a node, after which its claims hold no devices."""
    users = list(dict.fromkeys(user for claim in claims for user in _users(claim)))
    pods, names = listed(users, most=_NAMED), listed([claim.key for claim in claims], most=_NAMED)
    gone = "if the pod is gone" if len(users) == 1 else "if the pods are gone"
    return Remedy(
        summary=(
            f"delete finished pod{'s' * (len(users) > 1)} {pods}, or claim{'s' * (len(claims) > 1)} {names} {gone}: "
            f"this releases the devices on {situation.cluster.nodes.names[row]}"
        ),
        scope=RemedyScope.CLUSTER,
        changes=tuple(
            patched(claim, remove_operation("status", "allocation"), remove_operation("status", "reservedFor"))
            for claim in claims
        ),
        risk=Risk.MISTAKE,
        family="release devices",
        within=float(within),
        once=True,
        command=delete_command(users),
    )


#: An expression that requires a driver.
_DRIVER: Final = re.compile(r"""device\.driver\s*==\s*["']([^"']+)["']""")


def drivers_of_class(cluster: Cluster, name: str) -> list[str]:
    """Return the drivers that a DeviceClass selects; nothing if its expressions name none."""
    found = cluster.get(DeviceClass, name)
    expressions = (each.cel.expression for each in found.spec.selectors if each.cel is not None) if found else ()
    return [driver for expression in expressions for driver in _DRIVER.findall(expression)]


class _Pool(msgspec.Struct, frozen=True):
    """A pool of a node whose driver has not published all slices of the newest generation."""

    driver: str
    name: str
    row: int
    published: int
    expected: int

    @property
    def words(self) -> str:
        slices = f"{self.published} of {counted(self.expected, 'ResourceSlice')}"
        return f"pool {self.driver}/{self.name} is incomplete ({slices} of its newest generation)"


def incomplete_pools(situation: Situation) -> Iterator[Diagnosis]:
    """A pool of devices that its driver has published only in part, so that none of its devices is allocated.

    A driver publishes the devices of a pool as a number of ResourceSlices of one generation. kube-scheduler uses the pool
    only if all of them exist. If the driver's pod on the node crashes while it publishes, the pool stays incomplete. A node
    whose driver does not run may publish nothing at all. Operators repair or restart the driver's pod on the node.
    """
    # Yield the pools of nodes that lack nothing but devices, and nodes without slices whose driver is not ready.
    if not situation.filtered:
        return
    nodes = _only_devices_lack(situation)
    if not nodes.any() or situation.cluster.is_forbidden(ResourceSlice):
        return
    cluster, rows = situation.cluster, all_rows(nodes)[:_SAMPLE]
    operands = [one for row in rows for one in situation.operands(row, _PLUGIN) if isinstance(one, NotAllocated)]
    classes = dict.fromkeys(request.device_class for one in operands for request in one.requests)
    drivers = list(dict.fromkeys(driver for name in classes for driver in drivers_of_class(cluster, name)))
    pools = [pool for pool in _incomplete(cluster) if nodes[pool.row] and pool.driver in (drivers or [pool.driver])]
    publishing = {each.spec.node_name for each in cluster.list(ResourceSlice) if each.spec.driver in drivers}
    silent = [
        (row, driver)
        for row in rows
        for driver in drivers
        if publishing and cluster.nodes.names[row] not in publishing
        if (agent := agent_on(cluster, driver, row, "dra")) is not None and not agent.runs and agent.pod
    ]
    for row, driver, words in (
        *((pool.row, pool.driver, pool.words) for pool in pools),
        *((row, driver, f"driver {driver} publishes no devices") for row, driver in silent),
    ):
        node, agent = cluster.nodes.names[row], agent_on(cluster, driver, row, "dra")
        if agent is None and any(cluster.nodes.names[other] in publishing for other in rows if other != row):
            # The driver may be about to publish the rest, and other nodes have such devices.
            continue
        state = f": {agent.clause}" if agent is not None else ""
        rest = situation.in_reach.copy()
        rest[row] = False
        yield Diagnosis(
            rule="devices-not-published",
            cause=together(situation, f"{words} on {node}{state}", obstacles_on(situation, rest)),
            advice=(
                Advice(
                    summary=agent.cure(node) if agent is not None else f"repair the pod of driver {driver} on {node}",
                    risk=Risk.MISTAKE,
                    untried="the driver then publishes its devices, which the snapshot does not contain",
                    command=agent.command if agent is not None else f"# the pods of driver {driver} on {node}",
                ),
            ),
            checks=(f"kubectl get resourceslices --field-selector spec.nodeName={node}",),
        )
        return


def _incomplete(cluster: Cluster) -> Iterator[_Pool]:
    pools: dict[tuple[str, str], list[ResourceSlice]] = {}
    for each in cluster.list(ResourceSlice):
        pools.setdefault((each.spec.driver, each.spec.pool.name), []).append(each)
    for (driver, name), slices in pools.items():
        newest = max(each.spec.pool.generation for each in slices)
        of_newest = [each for each in slices if each.spec.pool.generation == newest]
        expected = of_newest[0].spec.pool.resource_slice_count
        row = cluster.nodes.row.get(of_newest[0].spec.node_name or "")
        if row is not None and len(of_newest) < expected:
            yield _Pool(driver, name, row, len(of_newest), expected)
