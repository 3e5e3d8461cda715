"""Volumes in every healthy state: bound, unbound, to be provisioned, attached up to a limit, and shared."""

from collections.abc import Callable
from typing import Final

from conformance.generate.chance import GI
from conformance.generate.scene import HOST, REGION, ZONE, Object, Scene
from conformance.generate.storage import (
    AWS,
    CAPACITY,
    CSI,
    EBS,
    GCE_PD,
    LATE,
    NO_PROVISIONER,
    being_deleted,
    bind,
    bind_to,
    bound_claim,
    claim,
    csi_driver,
    csi_nodes,
    in_zones,
    mount,
    mount_ephemeral,
    mount_source,
    on_hosts,
    own,
    reference,
    storage_class,
    volume,
)  # fmt: skip
from conformance.generate.volumes_inline import disks

_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
_ZONES: Final = ("z1", "z2", "z3", "z4")


def bound(s: Scene) -> None:
    """Add a bound claim whose volume only some nodes reach, by node affinity or by zone labels."""
    how = s.weighted((3, "zone"), (3, "host"), (4, "labels"), (1, "free"), (1, "gone"), (1, "in tree"))
    name = s.name("data")
    storage_class(s, "standard", CSI, "Immediate")
    found = claim(s, name, "standard", s.pick(1, 5) * GI)
    mount(s.pod, name)
    if how == "gone":
        bind_to(found, "pv-gone")
        if s.odds(0.5):
            s.disable("multiPoint", "VolumeZone")
        return
    labels: dict[str, str] | None = None
    fields: Object = {}
    if how == "zone":
        fields["nodeAffinity"] = in_zones(s.some(_ZONES, 1, 3))
    elif how == "host":
        fields["nodeAffinity"] = on_hosts(s, s.some(s.node_names(), 1, 4))
    elif how == "labels":
        labels = _zone_labels(s)
    elif how == "in tree":
        fields["gcePersistentDisk"] = {"pdName": name, "fsType": "ext4"}
        fields["nodeAffinity"] = in_zones(s.some(_ZONES, 1, 3)) if s.odds(0.6) else None
        labels = {s.pick(ZONE, _BETA_ZONE): s.pick(*_ZONES)} if s.odds(0.7) else None
    bind(found, volume(s, "standard", 10 * GI, labels, **fields))


def _zone_labels(s: Scene) -> dict[str, str]:
    """Return a volume's zone and region labels; seldom the nodes have the beta names of these labels."""
    if s.odds(0.3):
        for node in s.nodes:
            labels = node["metadata"]["labels"]
            for new, old in ((ZONE, _BETA_ZONE), (REGION, _BETA_REGION)):
                if new in labels and s.odds(0.6):
                    labels[old] = labels.pop(new) if s.odds(0.6) else labels[new]
    zones = "__".join(s.some(_ZONES, 1, 3))
    region = s.pick("r1", "r2")
    beta = {_BETA_ZONE: zones, _BETA_REGION: region}
    both = {ZONE: zones, _BETA_ZONE: zones}
    return s.pick({ZONE: zones}, {_BETA_ZONE: zones}, {ZONE: zones, REGION: "r1"}, beta, {REGION: region}, both)


def static(s: Scene) -> None:
    """Add claims that must find a volume among volumes that are free, taken, too small, or not quite suitable."""
    storage_class(s, "local", NO_PROVISIONER)
    claims = []
    for _ in range(s.weighted((4, 1), (3, 2), (1, 3))):
        slow = {"key": "speed", "operator": "NotIn", "values": ["slow"]}
        choice: Object | None = s.weighted(
            (6, None), (1, {"matchLabels": {"speed": "fast"}}), (1, {"matchExpressions": [slow]})
        )
        modes = s.weighted((6, ["ReadWriteOnce"]), (1, ["ReadWriteMany"]), (1, ["ReadOnlyMany"]))
        mode = s.weighted((6, "Filesystem"), (1, "Block"))
        size = s.pick(1, 2, 5, 10) * GI
        claims.append(claim(s, s.name("local"), "local", size, accessModes=modes, selector=choice, volumeMode=mode))
        mount(s.pod, claims[-1]["metadata"]["name"])
    density = s.pick(0.5, 1.5, 3.0)
    for name in s.node_names():
        for _ in range(int(density) + s.odds(density % 1)):
            _candidate(s, name, claims)


def _candidate(s: Scene, node: str, claims: list[Object]) -> None:
    """Add a volume on a node, which may or may not match a claim."""
    kinds = ("free", "released", "prebound", "other", "dying", "failed", "other class")
    kind = s.weighted(*zip((8, 1, 1, 1, 1, 1, 1), kinds, strict=True))
    modes = s.weighted((5, ["ReadWriteOnce"]), (2, ["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]))
    here: Object = {"local": {"path": s.name("/mnt/v")}, "nodeAffinity": on_hosts(s, [node])}
    path: Object = {"hostPath": {"path": "/data"}, "nodeAffinity": on_hosts(s, [node])}
    everywhere: Object = {"nfs": {"server": "10.2.0.1", "path": "/x"}}
    fields = s.weighted((8, here), (1, path), (1, everywhere))
    fields |= {"accessModes": modes, "volumeMode": s.weighted((6, "Filesystem"), (1, "Block"))}
    labels = s.pick(None, None, {"speed": "fast"}, {"speed": "slow"})
    class_name = "local2" if kind == "other class" else "local"
    pv = volume(s, class_name, s.pick(1, 2, 5, 10, 20) * GI, labels, **fields)
    stranger = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "someone", "namespace": "default"}
    if kind in ("released", "other"):
        pv["spec"]["claimRef"] = {**stranger, "uid": s.uid()}
        if kind == "released":
            pv["status"]["phase"] = "Released"
    elif kind == "failed":
        pv["status"]["phase"] = s.pick("Failed", "Pending")
    elif kind == "dying":
        being_deleted(s, pv, "kubernetes.io/pv-protection")
    elif kind == "prebound":
        wanted = reference(claims[0])
        taken = [found["spec"].get("claimRef", {}).get("name") for found in s.find("PersistentVolume")]
        if wanted["name"] not in taken:
            if s.odds(0.5):
                del wanted["uid"]
            pv["spec"]["claimRef"] = wanted


def dynamic(s: Scene) -> None:
    """Add claims to be provisioned: with topologies, storage capacity, a selected node, or volume attributes."""
    kind = s.weighted((2, "plain"), (3, "topology"), (4, "capacity"), (2, "selected"), (1, "attributes"))
    fields: Object = {}
    if kind == "topology" or s.odds(0.2):
        fields["allowedTopologies"] = [_topology(s) for _ in range(s.pick(1, 1, 2))]
    provisioner = {"capacity": CAPACITY, "attributes": NO_PROVISIONER}.get(kind, CSI)
    storage_class(s, "dynamic", provisioner, **fields)
    for _ in range(s.pick(1, 1, 2)):
        name = s.name("dyn")
        attributes = s.pick("gold", "silver") if kind == "attributes" else None
        found = claim(s, name, "dynamic", s.pick(1, 5, 10, 50) * GI, volumeAttributesClassName=attributes)
        if kind == "selected":
            node = s.any_node() if s.odds(0.85) else "no-such-node"
            found["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": node}
        mount(s.pod, name)
    if kind == "attributes":
        for name in ("gold", "silver"):
            fields = {"driverName": CSI, "parameters": {"iops": "100"}}
            s.add("storage.k8s.io/v1", "VolumeAttributesClass", s.meta(name), **fields)
        for _ in range(3):
            reach = on_hosts(s, s.some(s.node_names(), 1, 3))
            has = s.pick(None, "gold", "silver")
            volume(s, "dynamic", s.pick(5, 20, 60) * GI, volumeAttributesClassName=has, nodeAffinity=reach)
    elif kind == "capacity":
        csi_driver(s, CAPACITY, storageCapacity=s.odds(0.9))
        for i in range(s.between(0, 6)):
            _capacity(s, f"cap-{i}")
        s.namespace("kube-system")


def _topology(s: Scene) -> Object:
    key = s.weighted((4, ZONE), (1, HOST), (1, REGION))
    found: Object = {"matchLabelExpressions": [{"key": key, "values": s.some(["z1", "z2", "z3", "r1"], 1, 2)}]}
    if s.odds(0.2):
        found["matchLabelExpressions"].append({"key": REGION, "values": ["r1"]})
    return found


def _capacity(s: Scene, name: str) -> None:
    fields: Object = {"storageClassName": "dynamic" if s.odds(0.9) else "other"}
    if s.odds(0.9):
        fields["capacity"] = s.memory(s.pick(1, 5, 20, 100) * GI)
    if "capacity" in fields and s.odds(0.3):  # 1.37 crashes on a maximumVolumeSize without a capacity
        fields["maximumVolumeSize"] = s.memory(s.pick(1, 5, 20) * GI)
    among = {"key": ZONE, "operator": "In", "values": s.some(_ZONES, 1, 2)}
    zone, host = {"matchLabels": {ZONE: s.pick(*_ZONES)}}, {"matchLabels": {HOST: s.any_node()}}
    reach: Object | None = s.weighted((3, zone), (2, host), (1, {}), (1, None), (1, {"matchExpressions": [among]}))
    if reach is not None:
        fields["nodeTopology"] = reach
    s.add("storage.k8s.io/v1", "CSIStorageCapacity", s.meta(name, "kube-system"), **fields)


def single(s: Scene) -> None:
    """Add a ReadWriteOncePod claim, usually in use by another pod."""
    name = s.name("rwop")
    storage_class(s, "standard", CSI, "Immediate")
    bound_claim(s, name, "standard", ["ReadWriteOncePod"])
    mount(s.pod, name)
    if s.odds(0.7):
        namespace = s.pod["metadata"]["namespace"] if s.odds(0.85) else "team-a"
        user = s.add_pod("user", namespace, {"app": "db"}, node=s.any_node(), priority=s.pick(0, 0, 50))
        mount(user, name)
        if s.odds(0.15):
            s.finish(user)
        elif s.odds(0.15):
            s.terminate(user)
    if s.odds(0.5):
        s.pod["spec"]["priority"] = s.pick(50, 100)


def limits(s: Scene) -> None:
    """Add attach limits, volumes that count against them, and volumes that are already attached."""
    storage_class(s, "standard", CSI, "Immediate")
    storage_class(s, "late", CSI)
    storage_class(s, "ebs", AWS)
    csi_nodes(s, {CSI: [0, 1, 2, 3, None], EBS: [0, 1, 2, None], GCE_PD: [1, 2, None]})
    shared = s.name("shared")
    bound_claim(s, shared, "standard", ["ReadWriteMany"])
    for node in s.nodes:
        for _ in range(s.between(0, 2)):
            name = node["metadata"]["name"]
            pod = s.add_pod("mounter", s.pod["metadata"]["namespace"], s.labels(), node=name, priority=s.pick(0, 0, -5))
            kinds = ((4, "own"), (3, "shared"), (2, "disk"), (1, "missing"), (1, "ephemeral"), (1, "late"))
            attach(s, pod, s.weighted(*kinds), shared)
    for name in s.some(s.node_names(), 0, 2):  # attached, but used by no pod of the case
        pv = volume(s, "standard", GI)["metadata"]["name"]
        spec = {"attacher": CSI, "nodeName": name, "source": {"persistentVolumeName": pv}}
        s.add("storage.k8s.io/v1", "VolumeAttachment", s.meta(s.name("csi")), spec=spec, status={"attached": True})
    for _ in range(s.pick(1, 1, 2)):
        attach(
            s, s.pod, s.weighted((4, "own"), (2, "shared"), (2, "late"), (2, "disk"), (1, "gce"), (1, "ebs")), shared
        )
    if s.odds(0.3):
        s.pod["spec"]["priority"] = 100


def attach(s: Scene, pod: Object, kind: str, shared: str) -> None:
    """Give a pod a volume of the given kind."""
    namespace = pod["metadata"]["namespace"]
    if kind == "shared":
        mount(pod, shared)
    elif kind == "missing":
        mount(pod, "deleted-claim")
    elif kind == "disk":
        mount_source(pod, s.name("disk"), awsElasticBlockStore={"volumeID": s.name("vol"), "fsType": "ext4"})
    elif kind == "gce":
        mount_source(pod, s.name("disk"), gcePersistentDisk={"pdName": s.name("pd"), "fsType": "ext4"})
    elif kind == "ephemeral":
        found = claim(s, mount_ephemeral(pod, "standard"), "standard", GI, namespace)
        if s.odds(0.85):
            own(found, pod)
        bind(found, volume(s, "standard", 2 * GI))
    elif kind == "own":
        name = s.name("own")
        bound_claim(s, name, "standard", namespace=namespace)
        mount(pod, name)
    else:
        name = s.name("new")
        claim(s, name, kind, GI, namespace)
        mount(pod, name)


def ephemeral(s: Scene) -> None:
    """Add a generic ephemeral volume whose claim exists, bound or not."""
    storage_class(s, "late", CSI, LATE)
    found = claim(s, mount_ephemeral(s.pod, "late"), "late")
    own(found, s.pod)
    if s.odds(0.4):
        bind(found, volume(s, "late", 2 * GI, nodeAffinity=in_zones(s.some(_ZONES, 1, 2))))


_KINDS: Final[tuple[tuple[float, Callable[[Scene], None]], ...]] = (
    (5, bound), (5, static), (5, dynamic), (2, single), (4, limits), (1, ephemeral), (3, disks),
)  # fmt: skip


def healthy(s: Scene) -> None:
    """Add volumes of one kind, in a fifth of the cases of a second kind as well."""
    first = s.weighted(*_KINDS)
    first(s)
    if s.odds(0.2):
        second = s.weighted(*[(weight, kind) for weight, kind in _KINDS if kind is not first])
        second(s)
