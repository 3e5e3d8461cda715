"""A change of a pod as one of the template that it is made of."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.template import through_template
from kschedctl.objects.workload import Deployment, ReplicaSet
from kschedctl.scheduler.framework.remedy import Patch
from tests.builders import decide, make_cluster, make_node, make_object, make_pod

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
