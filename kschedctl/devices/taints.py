"""Taints of devices: those that rules add, and which of them a request tolerates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from kschedctl.api.device import (
    Device,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    DeviceToleration,
    ResourceSlice,
)

#: Other effects keep nobody away.
_EFFECTS: Final = ("NoSchedule", "NoExecute")


def with_taint_rules(slices: Sequence[ResourceSlice], rules: Sequence[DeviceTaintRule]) -> list[ResourceSlice]:
    """Slices with the taints of all rules on their devices (upstream ``resourceslice/tracker``).

    A rule whose selector is empty, or that has none, is for every device.
    """
    if not rules:
        return list(slices)
    return [
        replace(one, spec=replace(one.spec, devices=tuple(_tainted(one, device, rules) for device in one.spec.devices)))
        for one in slices
    ]


def _tainted(one: ResourceSlice, device: Device, rules: Iterable[DeviceTaintRule]) -> Device:
    taints = [rule.spec.taint for rule in rules if _selects(rule.spec.device_selector, one, device)]
    return replace(device, taints=(*device.taints, *taints)) if taints else device


def _selects(selector: DeviceTaintSelector | None, one: ResourceSlice, device: Device) -> bool:
    if selector is None:
        return True
    pairs = ((selector.driver, one.spec.driver), (selector.pool, one.spec.pool.name), (selector.device, device.name))
    return all(wanted is None or wanted == found for wanted, found in pairs)


def untolerated(taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> DeviceTaint | None:
    """The first taint that keeps a request away, or ``None``."""
    for taint in taints:
        if taint.effect in _EFFECTS and not any(_tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
