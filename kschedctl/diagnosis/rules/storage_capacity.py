"""The free storage that CSI drivers report (CSIStorageCapacity), where it keeps a pod from nodes."""

from collections.abc import Iterator
from functools import reduce
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.common.wording import listed
from kschedctl.diagnosis.components import agent_on, agents_words, provisioner_fault
from kschedctl.diagnosis.diagnosis import VOLUME_TOPOLOGY, Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.rules.obstacles import obstacles_on
from kschedctl.objects.quantity import value
from kschedctl.objects.selectors import SelectorError
from kschedctl.objects.volume import CSIDriver, PersistentVolume
from kschedctl.scheduler.framework.remedy import Remedy, add_operation, patched
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.volumes.binder import Binder, ProvisionCheck
from kschedctl.scheduler.volumes.claims import group_claims, pod_claims, required_affinity
from kschedctl.scheduler.volumes.matching import capacities, volume_limit
from kschedctl.scheduler.volumes.zones import VolumeTopology

#: At most this many nodes are named.
_NAMED: Final = 3
#: The limit of a node for which no capacity is reported.
_NONE: Final = -1


def unreported_storage(situation: Situation) -> Iterator[Diagnosis]:
    """A CSI driver reports no free storage, or none at all, for nodes that would hold the pod.

    If a driver tracks capacity (``storageCapacity: true`` in its CSIDriver), kube-scheduler provisions a volume only where
    a CSIStorageCapacity of the class is large enough. A node without such an object, or with 0, has no storage for it,
    whatever the driver could do. Drivers whose volumes come over the network sometimes report 0 for nodes without a disk
    of their own, and a driver that has just been installed or that crashes reports nothing.

    Operators look at the driver. If its volumes can be used on every node, they turn the tracking off. They neither make
    the claim smaller nor open nodes that are reserved for storage.
    """
    # Yield the driver whose report alone keeps the pod from nodes, while other nodes are no choice.
    if not situation.filtered or not situation.in_reach.any():
        return
    claims = group_claims(situation.cluster, pod_claims(situation.cluster, situation.pod))
    if not claims.delayed:
        return
    others = [plugin for plugin in situation.rejected if plugin not in VOLUME_TOPOLOGY]
    nodes = situation.selected & situation.rejected_by("VolumeBinding") & ~situation.rejected_by(*others)
    if not nodes.any():
        return
    try:
        found = Binder(situation.cluster).find_pod_volumes(claims)
    except SelectorError:
        return
    nodes &= reduce(np.logical_and, (bound.reachable for bound in found.bound), nodes)
    for check in found.provisions:
        without = nodes & check.needed & check.provisioning.allowed & ~check.provisioning.enough
        # A driver of local disks that reports 0 tells the truth: the node has no more.
        tied = _place_of_volumes(situation.cluster, check.provisioning.storage_class.provisioner)[0]
        if reports_none(situation, check, without) and not tied:
            yield silent_driver(situation, check, without)


def _limits(cluster: Cluster, class_name: str) -> Int64Array:
    """Return the size of the largest volume of a class by node, in bytes; -1 where nothing is reported: (n_nodes,)."""
    topology = VolumeTopology.of(cluster)
    limits = np.full(len(cluster.nodes), _NONE, dtype=np.int64)
    for each in capacities(cluster, class_name):
        if (limit := volume_limit(each)) is not None:
            selected = topology.selected(each.node_topology)
            limits[selected] = np.maximum(limits[selected], value(limit, saturate=True))
    return limits


def reports_none(situation: Situation, check: ProvisionCheck, nodes: Mask) -> bool:
    """Report whether a driver that tracks capacity reports 0, or nothing, for all of some nodes."""
    storage_class = check.provisioning.storage_class
    return bool(nodes.any()) and not (_limits(situation.cluster, storage_class.name)[nodes] > 0).any()


def reports_nothing(situation: Situation, check: ProvisionCheck) -> Mask:
    """Return the nodes for which a driver that tracks capacity has no CSIStorageCapacity of the class: (n_nodes,)."""
    found: Mask = _limits(situation.cluster, check.provisioning.storage_class.name) == _NONE
    return found


def silent_driver(situation: Situation, check: ProvisionCheck, nodes: Mask) -> Diagnosis:
    """Return the diagnosis of a driver that reports no free storage for nodes."""
    cluster, storage_class = situation.cluster, check.provisioning.storage_class
    driver, name = storage_class.provisioner, storage_class.name
    names, missing = listed(situation.names(nodes), most=_NAMED), _limits(cluster, name)[nodes] == _NONE
    if not missing.any():
        told = f"CSI driver {driver} reports no free storage of class {name} for {names} (CSIStorageCapacity 0)"
    else:
        told = f"CSI driver {driver} tracks capacity, and there is no CSIStorageCapacity of class {name} for {names}"
        if not missing.all():
            told += ", or it is 0"
    fault, repair, _ = provisioner_fault(cluster, driver)
    rows = all_rows(nodes)
    agent = agent_on(cluster, driver, rows[0]) if len(rows) == 1 and missing.all() else None
    if fault:
        told += f": {fault}"
    elif agent is not None and not agent.runs:
        told += agents_words([agent])
        repair = [
            Advice(
                summary=agent.cure(names),
                risk=Risk.MISTAKE,
                untried="the driver then reports its capacity there",
                command=agent.command,
            )
        ]
    rest = obstacles_on(situation, situation.in_reach)
    local, example = _place_of_volumes(cluster, driver)
    look = Advice(
        summary=(
            f"get CSI driver {driver} to report the capacity of class {name} (CSIStorageCapacity): look at its settings "
            "and the log of its provisioner"
        ),
        risk=Risk.POD if repair else Risk.MISTAKE,
        untried="the driver reports its capacity outside the scheduler",
        command=f"kubectl get csistoragecapacities -A | grep {name}",
    )
    if local and not missing.any():
        look = Advice(
            summary=f"add storage for class {name} on a node, or delete volumes there that nobody needs",
            risk=Risk.MISTAKE,
            untried=f"CSI driver {driver} then reports more capacity",
            command=look.command,
        )
    return Diagnosis(
        rule="no-storage-reported",
        cause=f"{told}{rest and f'; {rest}'}",
        evidence=(example,) if example else (),
        remedies=() if local or repair else tuple(_untracked(cluster, driver, known=bool(example))),
        advice=(*repair, look),
        checks=("kubectl get csistoragecapacities -A",),
    )


def _untracked(cluster: Cluster, driver: str, *, known: bool) -> Iterator[Remedy]:
    """Yield the change that turns the tracking of capacity off."""
    found = cluster.get(CSIDriver, driver)
    if found is None:
        return
    change = f"storageCapacity: false in CSIDriver {driver}"
    yield Remedy(
        summary=(
            f"turn capacity tracking off, as its volumes can be used on every node: {change}"
            if known
            else f"if its volumes can be used on every node: turn capacity tracking off, {change}"
        ),
        scope=RemedyScope.CLUSTER,
        changes=(patched(found, add_operation(False, "spec", "storageCapacity")),),
        risk=Risk.MISTAKE,
        family="capacity tracking",
        within=-1.0,
        command=f'kubectl patch csidriver {driver} -p \'{{"spec":{{"storageCapacity":false}}}}\'',
    )


def _place_of_volumes(cluster: Cluster, driver: str) -> tuple[bool, str]:
    """Report whether the volumes of a driver are tied to nodes, with a volume that is not, as a clause; empty for none."""
    own = [
        each for each in cluster.list(PersistentVolume) if each.spec.csi is not None and each.spec.csi.driver == driver
    ]
    free = next((each for each in own if required_affinity(each) is None), None)
    if free is not None:
        return False, f"volume {free.name} of CSI driver {driver} can be used on every node"
    return bool(own), ""
