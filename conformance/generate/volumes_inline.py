"""Disks that a pod names itself, without a claim."""

from conformance.generate.scene import Object, Scene
from conformance.generate.storage import mount_source


def disks(s: Scene) -> None:
    """Add disks named in pods: two pods on a node conflict over a disk unless both mount it read-only."""

    def disk(kind: str) -> Object:
        read_only = {"readOnly": True} if s.odds(0.4) else {}
        if kind == "gcePersistentDisk":
            source: Object = {"pdName": s.pick("d1", "d2"), "fsType": "ext4"}
        elif kind == "awsElasticBlockStore":
            source = {"volumeID": s.pick("vol-1", "vol-2"), "fsType": "ext4"}
        elif kind == "iscsi":
            source = {"targetPortal": s.pick("10.1.0.1:3260", "10.1.0.2:3260"), "lun": s.pick(0, 1)}
            source |= {"iqn": s.pick("iqn.2026-01.com.example:a", "iqn.2026-01.com.example:b")}
        else:
            source = {"monitors": s.some(["m1:6789", "m2:6789", "m3:6789"], 1, 2), "image": s.pick("i1", "i2")}
            source |= {"pool": s.pick("rbd", "rbd", "p2"), "user": "admin", "keyring": "/etc/ceph/keyring"}
        return {kind: source | read_only}

    kinds = s.some(["gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"], 1, 2)
    for name in s.node_names():
        for _ in range(s.weighted((2, 0), (4, 1), (2, 2))):
            pod = s.add_pod("disker", s.pick("default", "prod"), s.labels(), node=name, priority=s.pick(0, 0, 20))
            mount_source(pod, **disk(s.pick(*kinds)))
    for kind in kinds:
        mount_source(s.pod, **disk(kind))
    mount_source(s.pod, "tmp", emptyDir={})
    if s.odds(0.3):
        s.pod["spec"]["priority"] = 10
