"""ReplicaSets, ReplicationControllers and Deployments, by table."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.controllers.workloads.created_pods import MadePod
from kschedctl.controllers.workloads.pods import pods_of
from kschedctl.controllers.workloads.template import template_hash
from kschedctl.objects.meta import OwnerReference
from kschedctl.objects.workload import Deployment, ReplicaSet, ReplicationController
from tests.builders import make_cluster, make_container, make_object

APP = {"app": "web"}
SELECTOR = {"matchLabels": APP}


def template(cpu: str = "500m", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"labels": APP, **metadata}, "spec": {"containers": [make_container(requests={"cpu": cpu})]}}


def deployment(cpu: str = "500m", **spec: Any) -> Deployment:
    fields = {"selector": SELECTOR, "template": template(cpu), **spec}
    return make_object(Deployment, "web", namespace="shop", spec=fields)


def replica_set(name: str, cpu: str = "500m", *, revision: int = 1, owner: str = "web") -> ReplicaSet:
    """A ReplicaSet of a Deployment, whose name ends with its hash, as an API server stores it."""
    own_hash = name.rpartition("-")[2]
    labels = {**APP, "pod-template-hash": own_hash}
    stored = template(cpu)
    stored["metadata"]["labels"] = labels
    stored["spec"] |= {"schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30}
    made = make_object(
        ReplicaSet,
        name,
        namespace="shop",
        labels=labels,
        spec={"selector": {"matchLabels": labels}, "replicas": 3, "template": stored},
    )
    reference = OwnerReference(kind="Deployment", name=owner, api_version="apps/v1", controller=True)
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    metadata = replace(made.metadata, annotations=annotations, owner_references=(reference,), uid=f"uid-{name}")
    return replace(made, metadata=metadata)


def only(made: tuple[MadePod, ...]) -> MadePod:
    (one,) = made
    return one


@pytest.mark.parametrize(
    ("kind", "api_version", "selector"),
    [
        pytest.param(ReplicaSet, "apps/v1", SELECTOR, id="ReplicaSet"),
        pytest.param(ReplicationController, "v1", APP, id="ReplicationController"),
    ],
)
@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        pytest.param({}, 1, id="one by default"),
        pytest.param({"replicas": 3}, 3, id="three"),
        pytest.param({"replicas": 0}, 0, id="scaled down"),
    ],
)
def test_replicas(kind: Any, api_version: str, selector: Any, replicas: dict[str, int], expected: int) -> None:
    owner = make_object(kind, "web", namespace="shop", spec={"selector": selector, "template": template(), **replicas})
    made = only(pods_of(owner, make_cluster()))
    metadata = made.pod.metadata
    assert (metadata.name, metadata.generate_name, metadata.namespace) == ("web-xxxxx", "web-", "shop")
    assert metadata.labels == APP
    (reference,) = metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name, reference.controller) == (
        api_version,
        kind.__name__,
        "web",
        True,
    )
    assert made.pod.spec == owner.spec.template.spec
    assert made.replicas == expected
    # Default spreading goes by the controller's selector, so it has to be there.
    assert made.objects == (owner,)
    assert only(pods_of(owner, make_cluster([], [], owner))).objects == ()


def test_a_new_deployment_has_a_new_replica_set() -> None:
    given = deployment(replicas=4)
    made = only(pods_of(given, make_cluster()))
    (new,) = made.objects
    assert isinstance(new, ReplicaSet)
    assert given.spec.template is not None
    own_hash = template_hash(given.spec.template)
    assert new.name == f"web-{own_hash}"
    assert new.spec.selector is not None
    assert new.spec.selector.match_labels == {**APP, "pod-template-hash": own_hash}
    assert made.replicas == 4
    metadata = made.pod.metadata
    assert metadata.name == f"web-{own_hash}-xxxxx"
    assert metadata.labels == {**APP, "pod-template-hash": own_hash}
    (reference,) = metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name) == ("apps/v1", "ReplicaSet", new.name)


@pytest.mark.parametrize(
    ("stored", "cpu", "expected"),
    [
        pytest.param([replica_set("web-abc")], "500m", "web-abc", id="the same template"),
        pytest.param([replica_set("web-abc")], "0.5", "web-abc", id="the same template in other words"),
        pytest.param([replica_set("web-abc")], "1", None, id="another template"),
        pytest.param([replica_set("other-abc", owner="other")], "500m", None, id="another Deployment's"),
        pytest.param(
            [
                replica_set("web-abc", revision=2),
                replica_set("web-def", revision=10),
                replica_set("web-ghi", revision=9),
            ],
            "500m",
            "web-def",
            id="the newest revision of several",
        ),
    ],
)
def test_the_replica_set_of_the_cluster(stored: list[ReplicaSet], cpu: str, expected: str | None) -> None:
    made = only(pods_of(deployment(cpu), make_cluster([], [], *stored)))
    (reference,) = made.pod.metadata.owner_references
    if expected is None:
        assert len(made.objects) == 1
        assert reference.name == made.objects[0].name
        return
    assert made.objects == ()
    assert (reference.name, reference.uid) == (expected, f"uid-{expected}")
    assert made.pod.metadata.name == f"{expected}-xxxxx"
    assert made.pod.metadata.labels["pod-template-hash"] == expected.removeprefix("web-")
