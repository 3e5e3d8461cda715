"""Volumes: claims that some node can satisfy, and claims in a state that no node can resolve."""

from typing import Final

from conformance.generate.chance import GI
from conformance.generate.scene import Scene
from conformance.generate.storage import (
    CSI,
    being_deleted,
    bind_to,
    claim,
    mount,
    mount_ephemeral,
    storage_class,
    volume,
)  # fmt: skip
from conformance.generate.volumes_kinds import healthy

#: The kinds of broken claims, each with the plugins to disable so that another plugin's reason is reported.
_BROKEN: Final = (
    ("missing", ()),
    ("immediate", ()),
    ("immediate without class", ()),
    ("prebound", ()),
    ("lost", ()),
    ("deleting", ()),
    ("unknown class", ()),
    ("ephemeral missing", ()),
    ("ephemeral foreign", ()),
    ("missing", ("VolumeRestrictions", "VolumeZone", "VolumeBinding")),
    ("immediate", ("VolumeBinding",)),
    ("immediate without class", ("VolumeBinding",)),
    ("unknown class", ("VolumeBinding",)),
    ("lost volume", ("VolumeBinding",)),
    ("missing", ("VolumeRestrictions", "VolumeBinding")),
    ("missing", ("VolumeRestrictions", "VolumeZone")),
    ("lost volume", ("VolumeZone",)),
)


def volumes(s: Scene) -> None:
    """Add a broken claim in every fourth case, otherwise volumes in a healthy state."""
    if s.theme == "volumes" and s.number % 4 == 0:
        _broken(s, *_BROKEN[s.number // 4 % len(_BROKEN)])
    else:
        healthy(s)


def _broken(s: Scene, kind: str, off: tuple[str, ...]) -> None:
    if off:
        s.disable("multiPoint", *off)
    name = s.name("broken")
    if kind.startswith("ephemeral"):
        name = mount_ephemeral(s.pod, "late")
    else:
        mount(s.pod, name)
    if kind in ("missing", "ephemeral missing"):
        return
    storage_class(s, "late", CSI)
    storage_class(s, "now", CSI, "Immediate")
    classes = {"immediate": "now", "immediate without class": "", "unknown class": "no-such-class"}
    found = claim(s, name, classes.get(kind, "late"), GI)
    if kind == "prebound":
        found["spec"]["volumeName"] = volume(s, "late", 2 * GI)["metadata"]["name"]
    elif kind.startswith("lost"):
        bind_to(found, "pv-lost")
        if kind == "lost":
            found["status"]["phase"] = "Lost"
    elif kind == "deleting":
        being_deleted(s, found, "kubernetes.io/pvc-protection")
