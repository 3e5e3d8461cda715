"""A claim names a volume that does not match it in class, access modes, size, volume mode or claim reference.

The PersistentVolume controller binds a claim to the volume that the claim names only if the volume has the same class,
all access modes of the claim, the same volume mode and at least the requested size, and is not reserved for another
claim.

The API server accepts both, and the pods stay pending, as the claim is not bound.

Repair: make claim and volume match.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.relations import PV
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.values import Steps, at, is_rendered, items, mapping, nano_units, text

FAILS = """v1 PersistentVolumeClaim data
storageClassName: ""
accessModes: [ReadWriteMany]  # <-
volumeName: data
---
v1 PersistentVolume data
nfs: {server: nfs.example.com, path: /data}
"""
PASSES = FAILS.replace("accessModes: [ReadWriteMany]", "accessModes: [ReadWriteOnce]")


def check(claim: LintObject, context: LintContext) -> Iterator[Problem]:
    spec = mapping(claim.raw.get("spec"))
    name = text(spec.get("volumeName"))
    volume = context.manifests.named(claim, PV, name) if name and is_rendered(name) else None
    if volume is None:
        return
    of_volume = mapping(volume.raw.get("spec"))
    for own, other, why in _differences(claim, spec, of_volume):
        if is_rendered(at(claim.raw, *own)) and is_rendered(at(volume.raw, *other)):
            yield Problem(
                message=f"the claim cannot be bound to volume {name}, which it names: {why}",
                steps=own,
                help="make claim and volume match",
                related=(Related(volume, other, "the volume"),),
            )


def _differences(claim: LintObject, spec: object, volume: object) -> Iterator[tuple[Steps, Steps, str]]:
    wanted, has = at(spec, "storageClassName"), text(at(volume, "storageClassName"))
    if isinstance(wanted, str) and wanted != has:
        of = ("spec", "storageClassName")
        yield of, of, f'its class is "{has}", the claim\'s "{wanted}"'
    modes = [mode for mode in items(at(volume, "accessModes")) if isinstance(mode, str)]
    lacking = [mode for mode in items(at(spec, "accessModes")) if isinstance(mode, str) and mode not in modes]
    if lacking:
        of = ("spec", "accessModes")
        yield of, of, f"it has {', '.join(modes) or 'no access mode'}, not {', '.join(lacking)}"
    asked, capacity = at(spec, "resources", "requests", "storage"), at(volume, "capacity", "storage")
    size, room = nano_units(asked), nano_units(capacity)
    if size is not None and room is not None and room < size:
        yield ("spec", "resources", "requests", "storage"), ("spec", "capacity", "storage"), f"it has {capacity}"
    mode, of_volume = text(at(spec, "volumeMode")) or "Filesystem", text(at(volume, "volumeMode")) or "Filesystem"
    if mode != of_volume:
        yield ("spec", "volumeMode"), ("spec", "volumeMode"), f"its volumeMode is {of_volume}, the claim's {mode}"
    ref = mapping(at(volume, "claimRef"))
    namespace = text(ref.get("namespace"))
    elsewhere = bool(claim.namespace) and bool(namespace) and namespace != claim.namespace
    if ref and (ref.get("name") != claim.name or elsewhere):
        named = "/".join(part for part in (namespace, text(ref.get("name"))) if part)
        yield ("spec", "volumeName"), ("spec", "claimRef"), f"it is reserved for claim {named}"
