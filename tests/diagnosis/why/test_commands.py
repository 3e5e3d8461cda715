"""Commands for changes: kubectl commands, or manifest lines if a stored pod cannot be patched."""

from __future__ import annotations

import pytest

from kschedctl.diagnosis.why.commands import commands_of
from kschedctl.diagnosis.why.search import suggest
from kschedctl.questions.analyses.explain.suggestions import suggestion_data
from kschedctl.scheduler.framework.remedy import (
    Change,
    Remedy,
    RemedyScope,
    Risk,
    add_operation,
    created,
    deleted,
    patched,
    remove_operation,
)
from tests.builders import decide, make_claim, make_cluster, make_node, make_pod

STORED, NEW = make_pod("stored"), make_pod("new")
NODE = make_node("a")
CLUSTER = make_cluster([NODE], [STORED])


def remedy(change: Change, scope: RemedyScope = RemedyScope.POD, command: str = "") -> Remedy:
    return Remedy(summary="", scope=scope, changes=(change,), risk=Risk.DROPPED, family="", command=command)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(
            remedy(patched(STORED, add_operation({"key": "gpu"}, "spec", "tolerations", "-"))),
            "kubectl patch pod stored -n default --type=json -p "
            '\'[{"op":"add","path":"/spec/tolerations/-","value":{"key":"gpu"}}]\'',
            id="a toleration may be added to a pod that waits",
        ),
        pytest.param(
            remedy(patched(STORED, remove_operation("spec", "nodeSelector", "example.com/pool"))),
            "# in the manifest of pod default/stored: without spec.nodeSelector.example.com/pool",
            id="its selector is as it is",
        ),
        pytest.param(
            remedy(patched(NEW, add_operation({"key": "gpu"}, "spec", "tolerations", "-"))),
            '# in the manifest of pod default/new: spec.tolerations += {"key":"gpu"}',
            id="a pod that is not there",
        ),
        pytest.param(
            remedy(
                patched(NODE, remove_operation("spec", "taints", 0)), RemedyScope.NODE, "kubectl taint nodes a gpu-"
            ),
            "kubectl taint nodes a gpu-",
            id="a command that says it better",
        ),
        pytest.param(
            remedy(deleted(make_claim("data")), RemedyScope.CLUSTER),
            "kubectl delete persistentvolumeclaim data -n default",
            id="what goes",
        ),
        pytest.param(
            remedy(created(make_pod("more").__class__(metadata=make_pod("more").metadata)), RemedyScope.CLUSTER),
            "kubectl create -f - <<< '"
            '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"more","namespace":"default",'
            '"uid":"uid-default-more"}}\'',
            id="what comes",
        ),
    ],
)
def test_a_line_for_each(asked: Remedy, expected: str) -> None:
    assert commands_of(CLUSTER, [asked]) == (expected,)


def test_a_wait_has_no_command_that_changes_anything() -> None:
    decision = decide(
        make_pod(requests={"cpu": "3"}, priority=9),
        make_cluster([NODE], [make_pod("x", node="a", requests={"cpu": "2"})]),
    )
    (wait, *_) = suggest(decision).suggestions
    assert wait.summary == "wait: preemption evicts default/x from a"
    assert suggestion_data(wait).commands == ()


def test_a_workload_is_patched_instead_of_its_pods() -> None:
    through = (patched(NODE, remove_operation("spec", "taints", 0)),)
    found = commands_of(CLUSTER, [remedy(patched(NEW, remove_operation("spec", "nodeSelector")))], through)
    assert found == ('kubectl patch node a --type=json -p \'[{"op":"remove","path":"/spec/taints/0"}]\'',)
