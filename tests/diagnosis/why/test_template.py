"""A change of a pod as one of the template that it is made of."""

from typing import Any

import pytest

from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.template import commands_of, through_template
from kschedctl.objects.workload import Deployment, ReplicaSet
from kschedctl.questions.explain.analysis import suggestion_data
from kschedctl.scheduler.framework.remedy import (
    Change,
    Patch,
    Remedy,
    add_operation,
    created,
    deleted,
    patched,
    remove_operation,
)
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from tests.builders import decide, make_claim, make_cluster, make_node, make_object, make_pod

OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web", "controller": True}


def cluster(**spec: Any) -> Any:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}], **spec}}
    own = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    replica_set = make_object(ReplicaSet, "web-1", namespace="default", spec=own)
    owned = {"ownerReferences": [OWNER], "name": "web-1", "namespace": "default"}
    replica_set = type(replica_set)(metadata=_metadata(owned), spec=replica_set.spec)
    deployment = make_object(Deployment, "web", namespace="default", spec=own)
    return make_cluster([make_node("a", taints=["gpu:NoSchedule"])], [], deployment, replica_set)


def _metadata(fields: dict[str, Any]) -> Any:
    import msgspec

    from kschedctl.objects.meta import ObjectMeta

    return msgspec.convert(fields, ObjectMeta)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param({}, ("add", "/spec/template/spec/tolerations"), id="a list that the template does not have"),
        pytest.param(
            {"tolerations": [{"key": "spot", "operator": "Exists"}]},
            ("add", "/spec/template/spec/tolerations/-"),
            id="one that it has",
        ),
    ],
)
def test_the_workload_gets_what_the_pod_gets(own: dict[str, Any], expected: tuple[str, str]) -> None:
    pod = make_pod("web-1-x", labels={"app": "web"}, owner=("apps/v1", "ReplicaSet", "web-1"), **own)
    decision = decide(pod, cluster(**own))
    patch = suggest(decision, 1).suggestions[0].changes[0]
    assert isinstance(patch, Patch)
    through = through_template(decision.cluster, pod, patch)
    assert through is not None
    assert (through.kind, through.name) == ("Deployment", "web")
    assert [(one["op"], one["path"]) for one in through.patch] == [expected]


def test_a_pod_without_a_workload_has_none() -> None:
    pod = make_pod("alone")
    decision = decide(pod, cluster())
    patch = suggest(decision, 1).suggestions[0].changes[0]
    assert isinstance(patch, Patch)
    assert through_template(decision.cluster, pod, patch) is None


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
