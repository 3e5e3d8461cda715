"""ResourceClaims for devices that nobody publishes: a DeviceClass or a driver that does not exist.

A DeviceClass selects devices, most often by their driver. The driver's kubelet plugin publishes the devices of its node
as ResourceSlices. Charts of drivers have parts that are switched on separately, so one driver of a vendor may publish
devices while another publishes none. Operators switch the driver on, or correct the name of the class. A pod without
its claim would start and fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed, meant
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.objects.device import DeviceClass, ResourceClaim, ResourceSlice
from kschedctl.scheduler.devices.explain import NotAllocated, RequestSupply
from kschedctl.scheduler.framework.remedy import Remedy, RemedyScope, Risk, patched, replace_operation

_PLUGIN: Final = "DynamicResources"
#: An expression that requires a driver.
_DRIVER: Final = re.compile(r"""device\.driver\s*==\s*["']([^"']+)["']""")
#: The reasons of at most 50 nodes are looked at.
_SAMPLE: Final = 50


@dataclass(frozen=True, slots=True)
class _ClassUse:
    """A DeviceClass that a claim of the pod requests.

    Attributes
    ----------
    claim : ResourceClaim
        The claim.
    name : str
        The name of the class.
    path : tuple of (str or int)
        The path of the name in the claim.
    """

    claim: ResourceClaim
    name: str
    path: tuple[str | int, ...]


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield classes that do not exist, drivers without devices, and devices on nodes that cannot hold the pod."""
    outcome = situation.decision.pre_filter
    if not situation.filtered:
        if outcome is not None and outcome.status.plugin == _PLUGIN:
            yield from _missing_classes(situation)
        return
    reach = situation.in_reach
    refused = reach & situation.rejected_by(_PLUGIN)
    if not refused.any():
        return
    usable = reach & ~refused
    silent = [] if usable.any() else list(_silent_drivers(situation))
    if silent:
        yield from silent
    elif usable.any():
        yield _on_other_nodes(situation, usable, refused)
    else:
        yield from _all_in_use(situation, refused)


def _uses(situation: Situation) -> Iterator[_ClassUse]:
    """Yield the classes that the pod's claims without an allocation request."""
    pod = situation.pod
    made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    for entry in pod.spec.resource_claims:
        name = entry.resource_claim_name or made.get(entry.name, "")
        claim = situation.cluster.get(ResourceClaim, name, pod.namespace) if name else None
        if claim is None or claim.status.allocation is not None:
            continue
        for i, request in enumerate(claim.spec.devices.requests):
            at = ("spec", "devices", "requests", i)
            if request.exactly is not None:
                yield _ClassUse(claim, request.exactly.device_class_name, (*at, "exactly", "deviceClassName"))
            for j, sub in enumerate(request.first_available):
                yield _ClassUse(claim, sub.device_class_name, (*at, "firstAvailable", j, "deviceClassName"))


def _missing_classes(situation: Situation) -> Iterator[Diagnosis]:
    known = [each.name for each in situation.cluster.list(DeviceClass)]
    for use in _uses(situation):
        if use.name in known:
            continue
        near = meant(use.name, known)
        there = f"; there is {listed(near or sorted(known))}" if known else ", and there is no other"
        yield Diagnosis(
            rule="missing-device-class",
            cause=f"claim {use.claim.key} requests DeviceClass {use.name}, which does not exist{there}",
            remedies=tuple(_renamed(situation, use, other) for other in near),
            advice=()
            if near
            else (
                Advice(
                    summary=f"install the driver that DeviceClass {use.name} belongs to; its chart creates the class",
                    risk=Risk.MISTAKE,
                    untried="the devices of the driver are not known",
                ),
            ),
            checks=("kubectl get deviceclasses",),
        )


def _renamed(situation: Situation, use: _ClassUse, other: str) -> Remedy:
    """Return the correction of a class's name. A claim cannot be changed, so it is created again."""
    owner = use.claim.metadata.controller
    templates = [each.resource_claim_template_name for each in situation.pod.spec.resource_claims]
    made_from = next((name for name in templates if name), "")
    what = f"ResourceClaimTemplate {made_from}" if owner is not None and made_from else f"claim {use.claim.key}"
    return Remedy(
        summary=f"DeviceClass {other} instead of {use.name} in {what}",
        scope=RemedyScope.CLUSTER,
        changes=(patched(use.claim, replace_operation(other, *use.path)),),
        risk=Risk.MISTAKE,
        family=("device class", use.name),
        command=f"# correct {what} and create the claim again: claims cannot be changed",
    )


def _silent_drivers(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the drivers that requested classes select and that publish no device."""
    if situation.cluster.is_forbidden(ResourceSlice):
        return
    published: dict[str, set[str]] = {}
    for one in situation.cluster.list(ResourceSlice):
        published.setdefault(one.spec.driver, set()).add(one.spec.node_name or one.name)
    for use in _uses(situation):
        wanted = _drivers_of(situation.cluster.get(DeviceClass, use.name))
        if not wanted or any(driver in published for driver in wanted):
            continue
        driver = wanted[0]
        siblings = [name for name in sorted(published) if name.split(".", 1)[-1] == driver.split(".", 1)[-1]]
        others = [f"{name} ({counted(len(published[name]), 'node')})" for name in siblings or sorted(published)]
        instead = f"; those of {listed(others)} exist" if others else ", and no other driver publishes any"
        verb = "switch on the part of the driver" if siblings else "install the driver"
        yield Diagnosis(
            rule="no-device-of-the-class",
            cause=f"no ResourceSlice is of the driver {driver}, which DeviceClass {use.name} selects{instead}",
            evidence=(f"claim {use.claim.key} requests DeviceClass {use.name}",),
            advice=(
                Advice(
                    summary=f"{verb} that publishes devices of {driver}",
                    risk=Risk.MISTAKE,
                    untried="its kubelet plugin then publishes ResourceSlices that the snapshot does not contain",
                    command=f"# {verb} that publishes devices of {driver}",
                ),
            ),
            checks=("kubectl get resourceslices", "kubectl get daemonsets -A"),
        )
        return


def _drivers_of(found: DeviceClass | None) -> list[str]:
    if found is None:
        return []
    expressions = (each.cel.expression for each in found.spec.selectors if each.cel is not None)
    return [driver for expression in expressions for driver in _DRIVER.findall(expression)]


def _on_other_nodes(situation: Situation, usable: Mask, refused: Mask) -> Diagnosis:
    """Return the obstacles on the nodes that have the devices."""
    n_refused = int(refused.sum())
    rest = f"{counted(n_refused, 'other node')} {'has' if n_refused == 1 else 'have'} no usable devices for the claims"
    return Diagnosis(rule="device-nodes", cause=together(situation, obstacles_on(situation, usable), rest))


def _all_in_use(situation: Situation, refused: Mask) -> Iterator[Diagnosis]:
    """Yield who holds the devices, if every matching device is held."""
    supplies: list[RequestSupply] = []
    for row in all_rows(refused)[:_SAMPLE]:
        operands = [one for one in situation.operands(row, _PLUGIN) if isinstance(one, NotAllocated)]
        supplies += [request for one in operands for request in one.requests if request.lacking]
    matching = [one for one in supplies if one.matching]
    if not matching or any(one.free for one in matching):
        return
    holders = list(dict.fromkeys(str(holder) for one in matching for holder in one.holders))
    where = counted(len({id(one) for one in matching}), "node")
    held = f", held by {listed(holders, most=3)}" if holders else ""
    rest = int(refused.sum()) - len(matching)
    others = f"; {counted(rest, 'other node')} {'has' if rest == 1 else 'have'} none" if rest > 0 else ""
    yield Diagnosis(
        rule="devices-in-use",
        cause=f"all matching devices of DeviceClass {matching[0].device_class} on {where} are in use{held}{others}",
    )
