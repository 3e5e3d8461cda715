"""Taints of devices: those that DeviceTaintRules add, and their toleration by requests."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from kschedctl.objects.device import (
    Device,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    DeviceToleration,
    ResourceSlice,
)

#: Taints with any other effect are ignored.
_EFFECTS: Final = ("NoSchedule", "NoExecute")


def with_taint_rules(
    slices: Sequence[ResourceSlice], rules: Sequence[DeviceTaintRule], *, needs_selector: bool
) -> list[ResourceSlice]:
    """Return slices whose devices have the taints of all matching rules (upstream ``resourceslice/tracker``).

    Args:
        needs_selector: True if a rule without a selector matches no device; otherwise it matches every device, as a
            rule with an empty selector does.
    """
    if needs_selector:
        rules = [rule for rule in rules if rule.spec.device_selector is not None]
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
    """Return the first taint that is not tolerated, or ``None``."""
    for taint in taints:
        if taint.effect in _EFFECTS and not any(_tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    return (
        (not toleration.effect or toleration.effect == taint.effect)
        and (not toleration.key or toleration.key == taint.key)
        and (
            toleration.value == taint.value if toleration.operator in ("", "Equal") else toleration.operator == "Exists"
        )
    )
