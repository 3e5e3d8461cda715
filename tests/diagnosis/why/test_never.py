"""Changes that are never proposed, whatever the cluster: they let the pod be placed and cause the next incident."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conformance import generate
from kschedctl.cluster.node_selection import required_node_selector
from kschedctl.common.errors import KschedctlError
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.diagnosis.why.proof import Suggestion
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.pod import CONTROL_PLANE_TAINTS, UNSAFE_TAINTS, Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.resources import CPU, is_extended_resource, pod_requests, scheduler_units
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.well_known import PLATFORM_LABELS
from kschedctl.questions.batch.cases import Case, decide
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.remedy import ObjectDeletion, Patch
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.plugins.node_resources.remedies import MOST_LOWERED
from kschedctl.scheduler.plugins.registry import in_tree_registry

#: The fields that a pod exists for; they are never removed.
PURPOSE = ("/spec/schedulingGates", "/spec/resourceClaims")


def offences(decision: Decision, one: Suggestion) -> Iterator[str]:
    """Yield what a suggestion must not do."""
    before, after = decision.pod, one.decision.pod
    added = [each for each in after.spec.tolerations if each not in before.spec.tolerations]
    renamed = CONTROL_PLANE_TAINTS if {each.key for each in before.spec.tolerations} & {*CONTROL_PLANE_TAINTS} else ()
    if any(not each.key or (each.key.startswith(UNSAFE_TAINTS) and each.key not in renamed) for each in added):
        yield "tolerates a taint that protects pods"
    for change in one.changes:
        if isinstance(change, Patch):
            repairs = any(remedy.family == "repair" for remedy in one.remedies)
            yield from _of_patch(decision, change, repairs=repairs)
        elif isinstance(change, ObjectDeletion) and change.delete.kind == "Pod":
            yield from _of_deletion(decision, change.delete.namespace, change.delete.name, waits=_waits(one))
    if platform(before) - platform(after) and one.remedies[0].risk is not Risk.MISTAKE:
        yield "runs on another platform than the pod requires"
    rules = decision.framework.handle.request_rules
    has, gets = (scheduler_units(pod_requests(pod, rules)) for pod in (before, after))
    # With less CPU an init container takes longer, which is a change of low risk.
    slower = {CPU} if any(each.risk is Risk.POD for each in one.remedies) else set()
    corrects = any(each.risk is Risk.MISTAKE for each in one.remedies)
    for resource, amount in has.items():
        left = gets.get(resource, 0)
        if is_extended_resource(resource) and not left and amount:
            yield f"does without {resource}"
        if left < amount * (1 - MOST_LOWERED) - 1 and not corrects and resource not in slower:
            yield f"requests {left} {resource} instead of {amount}"
    used = {use.claim_name for pod in _others(decision) for use in _claims(pod)}
    names = {claim.name for claim in decision.cluster.list(PersistentVolumeClaim)}
    old = {use.claim_name for use in _claims(before)}
    for use in _claims(after):
        if use.claim_name not in old and (use.claim_name in used or old <= names):
            yield f"takes the claim {use.claim_name}"


def platform(pod: Pod) -> set[str]:
    """Return the requirements on the platform of the node."""
    required = required_node_selector(pod.spec)
    terms = required.node_selector_terms if required is not None else ()
    found = {str(each) for term in terms for each in term.match_expressions if each.key in PLATFORM_LABELS}
    return found | {f"{key}={value}" for key, value in pod.spec.node_selector.items() if key in PLATFORM_LABELS}


def _of_patch(decision: Decision, change: Patch, *, repairs: bool) -> Iterator[str]:
    for operation in change.patch:
        path, value = operation["path"], operation.get("value")
        if operation["op"] == "remove" and path.startswith(PURPOSE):
            yield f"removes {path}"
        if change.kind != "Node":
            continue
        node = decision.cluster.nodes.objects[decision.cluster.nodes.row[change.name]]
        if operation["op"] == "remove" and path.startswith("/spec/taints/"):
            taint = node.spec.taints[int(path.rsplit("/", 1)[1])]
            cordon = taint.key == "node.kubernetes.io/unschedulable"
            only = taint.key in CONTROL_PLANE_TAINTS and len(decision.cluster.nodes) == 1
            if taint.key.startswith(UNSAFE_TAINTS) and not (cordon or repairs or only):
                yield f"removes {taint}"
        if path.startswith("/metadata/labels/"):
            key = path.removeprefix("/metadata/labels/").replace("~1", "/").replace("~0", "~")
            if operation["op"] == "remove" or key in node.metadata.labels:
                yield f"changes the label {key} of a node"
            elif value not in decision.cluster.nodes.labels[key].values and value != node.name:
                yield f"gives a node the label {key}={value}, which no node has"


def _of_deletion(decision: Decision, namespace: str, name: str, *, waits: bool) -> Iterator[str]:
    pods = decision.cluster.pods
    index = pods.index[namespace, name]
    owner = pods.owner(index)
    if waits and pods.records[index].metadata.deletion_timestamp is not None:
        # The pod goes in any case.
        return
    if pods.priority[index] > (decision.pod.spec.priority or 0):
        yield f"deletes {namespace}/{name} of higher priority"
    if waits:
        return
    if decision.preemption is not None and decision.preemption.nominated:
        yield "deletes what preemption evicts anyway"
    if owner is None:
        return
    if owner.kind in NODE_BOUND:
        yield f"deletes {namespace}/{name}, which is created again on its node"
    mine = workload_of(decision.cluster, decision.pod.metadata)
    if workload_of(decision.cluster, pods.records[index].metadata) == mine:
        yield f"deletes the sibling {namespace}/{name}"


def _waits(one: Suggestion) -> bool:
    return one.remedies[0].risk is Risk.WAIT


def _claims(pod: Any) -> Iterator[Any]:
    return (volume.persistent_volume_claim for volume in pod.spec.volumes if volume.persistent_volume_claim is not None)


def _others(decision: Decision) -> Iterator[Any]:
    pods = decision.cluster.pods
    return (pods.pod(i) for i in range(len(pods)) if pods.key(i) != decision.pod.key)


@pytest.mark.parametrize("theme", sorted(set(generate.THEMES) - {"sequence", "groups"}))
@given(seed=st.integers(0, 10**6))
@example(seed=219)
@example(seed=320912)
@example(seed=8192)
def test_nothing_harmful_is_suggested(theme: str, seed: int) -> None:
    case = msgspec.convert(generate.case(theme, seed, seed % 150), Case)
    try:
        decision = decide(case, LATEST, in_tree_registry())
    except KschedctlError:
        return
    for one in suggest(decision, 50).suggestions:
        for way in (one, *one.others):
            assert not list(offences(decision, way)), (case.id, way.summary)
