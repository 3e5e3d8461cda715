"""Validation of the volume mounts and devices of containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.validation.context import Found, Tree
from kschedctl.objects.validation.values import one_of, relative_path

_BIDIRECTIONAL: Final = "Bidirectional"
_PROPAGATIONS: Final = (_BIDIRECTIONAL, "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")
#: The pod's valid volumes, by name.
Volumes = Mapping[str, Tree]


def volume_mounts(container: Tree, volumes: Volumes, path: str) -> Found:
    """Yield the problems of the volume mounts of a container."""
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices", ())}
    privileged = container.get("securityContext", {}).get("privileged", False)
    places: set[str] = set()
    for i, mount in enumerate(container["volumeMounts"]):
        at = f"{path}[{i}]"
        name, place = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield field_errors.required(f"{at}.name")
        if name not in volumes:
            yield field_errors.not_found(f"{at}.name", name)
        if not place:
            yield field_errors.required(f"{at}.mountPath")
        if place in places:
            yield field_errors.invalid(f"{at}.mountPath", place, "must be unique")
        places.add(place)
        if name in devices:
            yield field_errors.invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if place in devices.values():
            problem = "must not already exist as a path in volumeDevices"
            yield field_errors.invalid(f"{at}.mountPath", place, problem)
        yield from _below(mount, path, at)
        yield from _propagation(mount, privileged, path)


def _below(mount: Tree, path: str, at: str) -> Found:
    """Yield the problems of the subpath of a mount; the path of most messages does not contain the mount's index."""
    if mount.get("subPath"):
        yield from relative_path(mount["subPath"], f"{path}.subPath")
    if expression := mount.get("subPathExpr"):
        if mount.get("subPath"):
            problem = "subPathExpr and subPath are mutually exclusive"
            yield field_errors.invalid(f"{at}.subPathExpr", expression, problem)
        yield from relative_path(expression, f"{path}.subPathExpr")


def _propagation(mount: Tree, privileged: bool, path: str) -> Found:
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        yield from one_of(propagation, _PROPAGATIONS, f"{path}.mountPropagation")
        if propagation == _BIDIRECTIONAL and not privileged:
            problem = "Bidirectional mount propagation is available only to privileged containers"
            yield field_errors.forbidden(f"{path}.mountPropagation", problem)
    recursive = mount.get("recursiveReadOnly")
    if recursive is None:
        return
    yield from one_of(recursive, _RECURSIVE, f"{path}.recursiveReadOnly")
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly", False):
            problem = "may only be specified when readOnly is true"
            yield field_errors.forbidden(f"{path}.recursiveReadOnly", problem)
        if propagation not in (None, "None"):
            problem = "may only be specified when mountPropagation is None or not specified"
            yield field_errors.forbidden(f"{path}.recursiveReadOnly", problem)


def _block_volume(volume: Tree | None, name: str, path: str) -> Found:
    if volume is None:
        yield field_errors.not_found(path, name)
    elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
        problem = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield field_errors.invalid(path, name, problem)


def volume_devices(container: Tree, volumes: Volumes, path: str) -> Found:
    """Yield the problems of the block devices of a container."""
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts", ())}
    names: set[str] = set()
    places: set[str] = set()
    for i, device in enumerate(container["volumeDevices"]):
        at = f"{path}[{i}]"
        name, place = device.get("name", ""), device.get("devicePath", "")
        if not name:
            yield field_errors.required(f"{at}.name")
        if name in names:
            yield field_errors.invalid(f"{at}.name", name, "must be unique")
        yield from _block_volume(volumes.get(name), name, f"{at}.name")
        if not place:
            yield field_errors.required(f"{at}.devicePath")
        if place in places:
            yield field_errors.invalid(f"{at}.devicePath", place, "must be unique")
        if ".." in place.split("/"):
            yield field_errors.invalid(f"{at}.devicePath", place, "can not contain backsteps ('..')")
        else:
            places.add(place)
        if name in mounts:
            yield field_errors.invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if place in mounts.values():
            problem = "must not already exist as a path in volumeMounts"
            yield field_errors.invalid(f"{at}.devicePath", place, problem)
        if name:
            names.add(name)
