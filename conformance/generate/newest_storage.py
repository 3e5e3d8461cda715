"""Storage in 1.37: scoring by storage capacity, and CSI drivers that prevent scheduling to nodes without them."""

from typing import Any

from conformance.generate.chance import GI, MI
from conformance.generate.config import shape
from conformance.generate.scene import HOST, ZONE, Object, Scene
from conformance.generate.storage import (
    AWS,
    CAPACITY,
    CSI,
    EBS,
    NO_PROVISIONER,
    bind,
    bound_claim,
    claim,
    csi_driver,
    csi_nodes,
    mount,
    mount_ephemeral,
    mount_source,
    on_hosts,
    own,
    storage_class,
    volume,
)  # fmt: skip
from conformance.generate.volumes_kinds import bound


def _capacities(s: Scene, class_name: str) -> None:
    """Add the CSIStorageCapacities of a class, at most one for any node."""
    zones = ["z1", "z2", "z3", "z4"]
    how = s.pick("host", "host", "zone", "zone", "all", "halves")
    hosts = sorted({node["metadata"]["labels"][HOST] for node in s.nodes if HOST in node["metadata"]["labels"]})
    some = s.some(zones, 1, 3)
    halves = [{"matchExpressions": [{"key": ZONE, "operator": op, "values": some}]} for op in ("In", "NotIn")]
    reaches: dict[str, list[Object]] = {
        "host": [{"matchLabels": {HOST: host}} for host in hosts],
        "zone": [{"matchLabels": {ZONE: zone}} for zone in zones],
        "all": [{}],
        "halves": halves,
    }

    def add(name: str, **fields: Any) -> None:
        meta = s.meta(s.name("cap"), "kube-system")
        s.add("storage.k8s.io/v1", "CSIStorageCapacity", meta, storageClassName=name, **fields)

    for reach in reaches[how]:
        if s.odds(0.1):
            continue
        size = s.pick(3, 8, 20, 30, 64, 100, 400) * GI + s.pick(0, 0, 1, 333 * MI)
        fields: Object = {"capacity": s.memory(size), "nodeTopology": reach}
        if s.odds(0.2):
            fields["maximumVolumeSize"] = s.memory(s.pick(2, 8, 30) * GI)
            if s.odds(0.2):
                fields["capacity"] = "0"
        add(class_name, **fields)
    if s.odds(0.3):
        add(class_name, capacity="1Ti")  # reaches no node
    if s.odds(0.3):
        add("other", capacity="1Ti", nodeTopology={})


def _weigh(s: Scene) -> None:
    """Configure VolumeBinding, which scores storage capacity."""
    if s.odds(0.3):
        s.plugin_args("VolumeBinding", shape=shape(s))
    elif s.odds(0.1):
        wrong = s.pick(((50, 3), (50, 4)), ((60, 3), (40, 4)), ((0, 11),), ((101, 1),), ((-1, 1),), ((0, -1),))
        s.plugin_args("VolumeBinding", shape=[{"utilization": at, "score": score} for at, score in wrong])
    elif s.odds(0.1):
        s.plugin_args("VolumeBinding", bindTimeoutSeconds=s.pick(0, 60, -1))
    if s.odds(0.25):
        how = s.pick("weight", "weight", "first", "score", "preScore")
        if how == "weight":
            s.disable("score", "VolumeBinding")
            s.plugins("score", "enabled").append({"name": "VolumeBinding", "weight": s.pick(2, 5, 20)})
        elif how == "first":
            s.plugins("multiPoint", "enabled").append({"name": "VolumeBinding", "weight": s.pick(1, 3, 10)})
        else:
            s.disable(how, "VolumeBinding")


def provisioned(s: Scene) -> None:
    """Add claims to be provisioned by a driver that publishes its storage capacity."""
    s.namespace("kube-system")
    if s.odds(0.95):
        csi_driver(s, CAPACITY, storageCapacity=s.odds(0.95))
    classes = s.pick(("fast",), ("fast", "slow"), ("fast", "slow"))
    for name in classes:
        among = [{"key": ZONE, "values": s.some(["z1", "z2", "z3"], 1, 2)}]
        topologies: Object = {"allowedTopologies": [{"matchLabelExpressions": among}]} if s.odds(0.15) else {}
        storage_class(s, name, CAPACITY, **topologies)
        _capacities(s, name)
    storage_class(s, "plain", CSI)
    for _ in range(s.weighted((3, 1), (3, 2), (1, 3))):
        name = s.name("dyn")
        size = s.pick(1, 2, 2, 5, 7, 20) * GI + s.pick(0, 0, 511 * MI)
        claim(s, name, "plain" if s.odds(0.12) else s.pick(*classes), size)
        mount(s.pod, name)
    if s.odds(0.15):
        bound(s)
    _weigh(s)


def static_or_provisioned(s: Scene) -> None:
    """Add claims that match a volume on some or all nodes, beside claims to be provisioned."""
    s.namespace("kube-system")
    csi_driver(s, CAPACITY, storageCapacity=True)
    storage_class(s, "local", NO_PROVISIONER)
    storage_class(s, "local2", NO_PROVISIONER)
    storage_class(s, "fast", CAPACITY)
    _capacities(s, "fast")
    wanted = [s.weighted((4, "local"), (2, "local2"), (4, "fast")) for _ in range(s.pick(1, 2, 2, 3))]
    for class_name in wanted:
        name = s.name("data")
        claim(s, name, class_name, s.pick(1, 2, 5, 6, 10) * GI + s.pick(0, 0, 100 * MI))
        mount(s.pod, name)
    for node in s.node_names():
        for class_name in sorted(set(wanted)):
            for _ in range(s.pick(0, 1, 2, 3) if class_name == "fast" else s.pick(0, 2, 2, 3, 4)):
                source: Object = {"local": {"path": s.name("/mnt/v")}}
                if class_name == "fast":
                    source = {"csi": {"driver": CAPACITY, "volumeHandle": s.name("vol")}}
                volume(s, class_name, s.pick(1, 2, 5, 8, 10, 25, 60) * GI, nodeAffinity=on_hosts(s, [node]), **source)
    if s.odds(0.2):
        volume(s, wanted[0], s.pick(20, 200) * GI, nfs={"server": "10.2.0.1", "path": "/x"})
    _weigh(s)


def drivers(s: Scene) -> None:
    """Add nodes without a CSI driver that sets ``preventPodSchedulingIfMissing``."""
    strict = s.weighted((4, CSI), (2, EBS), (2, CAPACITY))
    for driver in (CSI, EBS, CAPACITY):
        if driver == strict:
            csi_driver(s, driver, preventPodSchedulingIfMissing=s.weighted((9, True), (1, False), (1, None)))
        elif s.odds(0.7):
            csi_driver(s, driver, preventPodSchedulingIfMissing=s.pick(None, False))
    csi_nodes(s, {CSI: [0, 1, 2, None, None], EBS: [1, 2, None], CAPACITY: [None]}, s.pick(0.7, 1.0))
    for found in s.find("CSINode"):
        if s.odds(0.55):
            found["spec"]["drivers"] = [one for one in found["spec"]["drivers"] if one["name"] != strict]
    storage_class(s, "standard", CSI, "Immediate")
    for name, provisioner in (("late", CSI), ("cap", CAPACITY), ("ebs", AWS)):
        storage_class(s, name, provisioner)
    shared = s.name("shared")
    bound_claim(s, shared, "standard", ["ReadWriteMany"])
    for node in s.node_names():
        for _ in range(s.between(0, 2)):
            priority = s.pick(0, 0, -5)
            pod = s.add_pod("mounter", s.pod["metadata"]["namespace"], s.labels(), node=node, priority=priority)
            _give(s, pod, s.weighted((3, "standard"), (2, "shared"), (2, "inline"), (1, "late")), shared, strict)
    kinds = {CSI: ("standard", "late", "shared", "ephemeral"), EBS: ("inline", "ebs"), CAPACITY: ("cap",)}
    first = s.pick(*kinds[strict]) if s.odds(0.85) else "csi inline"
    others = [kind for kind in ("standard", "late", "shared", "inline", "ebs", "cap") if kind != first]
    for kind in (first, *s.some(others, 0, 1)):
        _give(s, s.pod, kind, shared, strict)
    if s.odds(0.3):
        s.pod["spec"]["priority"] = 100
        if s.odds(0.5):
            s.pod["status"]["nominatedNodeName"] = s.any_node()


def _give(s: Scene, pod: Object, kind: str, shared: str, driver: str) -> None:
    """Give a pod a volume of the given kind."""
    namespace = pod["metadata"]["namespace"]
    if kind == "shared":
        mount(pod, shared)
    elif kind == "inline":
        mount_source(pod, s.name("disk"), awsElasticBlockStore={"volumeID": s.name("vol"), "fsType": "ext4"})
    elif kind == "csi inline":
        mount_source(pod, s.name("secret"), csi={"driver": driver})
    elif kind == "ephemeral":
        own(claim(s, mount_ephemeral(pod, "late"), "late", GI, namespace), pod)
    else:
        name = s.name("new")
        found = claim(s, name, kind, GI, namespace)
        if kind == "standard":
            bind(found, volume(s, "standard", 2 * GI))
        mount(pod, name)
