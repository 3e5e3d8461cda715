"""Requests of ResourceClaims that no device answers: by their selectors, by the taints of devices, or by their number."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.rules.devices import device_claims
from kschedctl.diagnosis.rules.obstacles import obstacles
from kschedctl.objects.device import DeviceTaintRule, ResourceClaim
from kschedctl.scheduler.devices.explain import NotAllocated, RequestSupply
from kschedctl.scheduler.framework.risk import Risk

_PLUGIN: Final = "DynamicResources"
#: The reasons of at most 50 nodes are looked at.
_SAMPLE: Final = 50
_UNTRIED: Final = "a claim cannot be changed: it is made anew, with its pod"
_SELECTOR_ERROR: Final = re.compile(r"claim (?P<claim>\S+?): selector .*CEL")


def device_requests(situation: Situation) -> Iterator[Diagnosis]:
    """Devices that exist, and of which none or too few answer a request of the pod's ResourceClaim.

    A request selects devices with CEL expressions over their attributes and capacities, beside those of its DeviceClass. A
    model or an amount of memory that no device has, a taint of a broken device, or a number that no node has at once leave
    nothing to allocate. Operators correct the expression or the number in the ResourceClaimTemplate, repair the device, or
    add a node with such devices.
    """
    # Yield the closest request, if the devices are all that keeps the pod from the nodes within reach.
    reach = situation.in_reach
    if not situation.filtered or not reach.any() or (reach & ~situation.rejected_by(_PLUGIN)).any():
        return
    found = [
        (request, situation.cluster.nodes.names[row])
        for row in all_rows(reach)[:_SAMPLE]
        for one in situation.operands(row, _PLUGIN)
        if isinstance(one, NotAllocated)
        for request in one.requests
        if request.lacking
    ]
    if not found or any(True for _ in device_claims(situation)):
        return
    supply, node = max(found, key=lambda each: (each[0].matching > 0, -each[0].lacking, each[0].of_class))
    request = f"request {supply.request} of claim {supply.claim}"
    if not supply.matching and supply.turned_away:
        yield _rejected(situation, supply, request)
    elif supply.matching and supply.tainted == supply.free and not supply.usable and supply.free:
        yield _tainted(situation, supply, request, node)
    elif supply.wanted > supply.matching > 0:
        yield replace(
            next(iter(obstacles(situation))),
            rule="device-requests",
            advice=(
                _correction(situation, supply.claim, f"request {supply.matching} devices or fewer", Risk.REDUCED),
                _new_node(f"{supply.wanted} such devices"),
            ),
        )


def _rejected(situation: Situation, supply: RequestSupply, request: str) -> Diagnosis:
    """Return the diagnosis of selectors that no device passes."""
    last = supply.turned_away[-1]
    kind, _, name = last.of.partition(" ")
    if kind == "class":
        correct = Advice(
            summary=f"correct the selector of DeviceClass {name}, or request another class: no device passes it",
            risk=Risk.MISTAKE,
            untried=_UNTRIED,
            command=f"kubectl get deviceclass {name} -o yaml",
        )
    else:
        correct = _correction(situation, supply.claim, f"correct the selector of request {name}", Risk.MISTAKE)
    return Diagnosis(
        rule="device-requests",
        cause=f"no device answers {request}: {last.words()}",
        evidence=tuple(one.words() for one in supply.turned_away[:-1]),
        advice=(correct, _new_node("devices that match")),
        checks=("kubectl get resourceslices -o yaml",),
    )


def _tainted(situation: Situation, supply: RequestSupply, request: str, node: str) -> Diagnosis:
    """Return the diagnosis of devices that are free, and all have a taint."""
    rules = [rule.name for rule in situation.cluster.list(DeviceTaintRule) if str(rule.spec.taint) in supply.taints]
    who = f"DeviceTaintRule {listed(rules)} adds it" if rules else "their driver adds it"
    return Diagnosis(
        rule="device-requests",
        cause=f"{request} cannot be answered: {counted(supply.tainted, 'free device')} on {node} "
        f"{'has' if supply.tainted == 1 else 'have'} the taint {listed(supply.taints)}",
        evidence=(f"the taint marks devices that are not to be used; {who}",),
        advice=(
            Advice(
                summary=f"delete DeviceTaintRule {rules[0]}, once the devices of {node} are in order"
                if rules
                else f"repair the devices of {node}, or replace the node: the driver then takes the taint off",
                risk=Risk.MISTAKE,
                untried="the snapshot does not show the state of the devices",
                command=f"kubectl get devicetaintrules {rules[0]} -o yaml"
                if rules
                else f"kubectl describe node {node}",
            ),
            # The search proposes a copy of the node if the copy has no taint.
            *(() if rules else (_new_node("such devices"),)),
        ),
        checks=("kubectl get resourceslices -o yaml",),
    )


def _correction(situation: Situation, claim: str, what: str, risk: Risk) -> Advice:
    """Return the advice to correct a claim where it is made: in its template, or by itself."""
    namespace, _, name = claim.partition("/")
    found = situation.cluster.get(ResourceClaim, name, namespace)
    templates = [each.resource_claim_template_name for each in situation.pod.spec.resource_claims]
    template = next(filter(None, templates), "") if found is None or found.metadata.controller is not None else ""
    where = f"ResourceClaimTemplate {namespace}/{template}" if template else f"claim {claim}"
    kind, made = ("resourceclaimtemplate", template) if template else ("resourceclaim", name)
    return Advice(
        summary=f"{what} in {where}, and recreate the pod",
        risk=risk,
        untried=_UNTRIED,
        command=f"kubectl get {kind} -n {namespace} {made} -o yaml",
    )


def _new_node(devices: str) -> Advice:
    return Advice(
        summary=f"add a node with {devices}", risk=Risk.CAPACITY, untried="the snapshot has no such node to copy"
    )


def device_selector_error(situation: Situation) -> Iterator[Diagnosis]:
    """A CEL expression of a ResourceClaim that fails for a device, so that kube-scheduler returns an error.

    An expression that reads an attribute which a device does not have ends with "no such key". Operators look which
    attributes the devices publish in their ResourceSlices, correct the name, or test for it before they read it.
    """
    # Yield the selector that fails.
    found = _SELECTOR_ERROR.search(situation.decision.error)
    if found is not None:
        yield Diagnosis(
            rule="device-selector-error",
            cause=f"a CEL expression of claim {found['claim']} fails for a device",
            advice=(
                _correction(
                    situation,
                    found["claim"],
                    "correct the expression, or let it test first whether the attribute exists ('NAME' in "
                    "device.attributes['DOMAIN'])",
                    Risk.MISTAKE,
                ),
            ),
            checks=("kubectl get resourceslices -o yaml",),
        )
