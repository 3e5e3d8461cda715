"""The scheduler's messages with other names in them."""

import pytest

from kschedctl.objects.core import Condition
from kschedctl.sources.snapshot.anonymize_messages import anonymous_conditions
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms

DEVICE_REASONS = (
    "3 cannot allocate all claims",
    "3 resourceclaim not available on the node",
    "3 invalid resource pools were encountered",
    "3 cannot schedule extended resource claim",
    "3 cannot fit resource",
    "no new claims to deallocate",
    "deallocation of ResourceClaim completed",
    "deletion of ResourceClaim completed",
)
GROUP_TEXTS = (
    "waiting for minCount pods from a gang to appear in scheduling queue",
    "waiting for the preemption for this pod group to be finished",
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
    "one or more plugins asked to wait and no plugin rejected pod",
    "pod group is unschedulable, pod group is waiting for preemption to complete",
    "pod group is unschedulable, 0/2 placements are available, first placement status: "
    "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining",
    "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining, pod group preemption: "
    "found a placement for podgroup, preempting 2 victims",
    "pod group is unschedulable, pod group preemption: ongoing preemption on nominated nodes",
    "pod group is unschedulable, pod group preemption: not eligible due to preemptionPolicy=Never.",
    "pod group is unschedulable, workload aware preemption is not supported for pod groups with scheduling constraints",
    "pod group is unschedulable, No preemption victims found for incoming preemptor",
    "no feasible placements found",
    "scheduling policy's minimum threshold (3) cannot be satisfied: 0 scheduled, 2 unschedulable, 1 not-evaluated, "
    "pod group preemption: No preemption victims found for incoming preemptor",
    "scheduling policy's minimum threshold (3) is not yet satisfied: 1 scheduled, 2 unschedulable, 0 not-evaluated",
    "no pods were schedulable",
    "nominated placement is feasible but no pending pod was scheduled",
)
NAMES = ("web-0", "data", "available", "1")


def anonymous(message: str, *, type_: str = "PodScheduled", reason: str = "Unschedulable") -> list[str]:
    names = Pseudonyms()
    condition = Condition(type=type_, status="False", reason=reason, message=message)
    for name in NAMES:
        names.word(name)
    anonymous_conditions((condition,), names)
    names.settle((), ())
    return [found.message for found in anonymous_conditions((condition,), names)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.",) * 2,
        ("0/3 nodes are available: 3 No preemption victims found for incoming pod.",) * 2,
        (
            "0/3 nodes are available: 3 Insufficient acme.com/gpu. preemption: 0/3 nodes are available",
            "0/3 nodes are available: 3 Insufficient example.com/resource-1. preemption: 0/3 nodes are available",
        ),
        (
            '0/3 nodes are available: persistentvolumeclaim "data" not found.',
            '0/3 nodes are available: persistentvolumeclaim "name-3" not found.',
        ),
        (
            "0/3 nodes are available: 3 node(s) had untolerated taint {team: data}.",
            "0/3 nodes are available: 3 node(s) had untolerated taint {key-1: name-3}.",
        ),
        (
            "0/3 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/unreachable: }.",
            "0/3 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/unreachable: }.",
        ),
        *(
            (f"0/3 nodes are available: {text}. still not schedulable, preemption: 0/3 nodes are available",) * 2
            for text in DEVICE_REASONS
        ),
        (
            "0/3 nodes are available: request r: device class data does not exist.",
            "0/3 nodes are available: request name-4: device class name-3 does not exist.",
        ),
        ("0/3 nodes are available: waiting for web-0.", "0/3 nodes are available: waiting for name-4."),
        ("0/3 nodes are available: 1 waiting for payroll.", "0/3 nodes are available: 1 waiting for name-4."),
        (
            "0/3 nodes are available: PVC shop/data was not created for pod shop/web-0 (pod is not owner).",
            "0/3 nodes are available: PVC name-4/name-3 was not created for pod name-4/name-5 (pod is not owner).",
        ),
        ("what another program writes of data", ""),
    ],
    ids=[
        "plain",
        "no victims",
        "resource",
        "quoted",
        "taint",
        "taint of Kubernetes",
        *DEVICE_REASONS,
        "a class",
        "bare",
        "word",
        "with-namespaces",
        "unknown",
    ],
)
def test_messages(message: str, expected: str) -> None:
    assert anonymous(message) == [expected]


@pytest.mark.parametrize(
    "type_", ["PodScheduled", "PodGroupScheduled", "PodGroupInitiallyScheduled", "CompositePodGroupInitiallyScheduled"]
)
@pytest.mark.parametrize("message", GROUP_TEXTS)
def test_messages_about_groups_are_kept(message: str, type_: str) -> None:
    assert anonymous(message, type_=type_) == [message]


@pytest.mark.parametrize(
    "message",
    [
        'waiting for pods\'s pod group "data" to appear in scheduling queue',
        'pod group "data" or one of its composite pod group ancestors has not been created yet',
        'parent pod group "data" is unschedulable',
        'ancestor composite pod group "data" is unschedulable',
    ],
)
def test_the_name_of_a_group_is_replaced(message: str) -> None:
    assert anonymous(message) == [message.replace("data", "name-3")]


def test_the_key_of_a_group_is_replaced() -> None:
    assert anonymous("waiting for podgroup/shop/data to meet its quorum") == [
        "waiting for podgroup/name-4/name-3 to meet its quorum"
    ]
    tree = "waiting for compositepodgroup/{} tree to have at least one ready child group"
    assert anonymous(tree.format("shop/data")) == [tree.format("name-4/name-3")]


@pytest.mark.parametrize("reason", ["PodGroupError", "CompositePodGroupError", "Scheduled"])
def test_reasons_of_groups_are_kept(reason: str) -> None:
    condition = Condition(type="PodGroupInitiallyScheduled", status="False", reason=reason, message="of payroll")
    [found] = anonymous_conditions((condition,), Pseudonyms())
    assert (found.reason, found.message) == (reason, "")


def test_errors_can_hold_anything() -> None:
    assert anonymous("0/3 nodes are available: data", reason="SchedulerError") == [""]


def test_reasons_and_states_are_kubernetes_own() -> None:
    condition = Condition(type="PodScheduled", status="payroll", reason="Payroll", message="payroll")
    (found,) = anonymous_conditions((condition,), Pseudonyms())
    assert (found.status, found.reason, found.message) == ("Unknown", "Other", "")
