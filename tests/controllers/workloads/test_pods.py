"""Pods of every kind that creates pods, and the messages about all other kinds."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.common.errors import ManifestError
from kschedctl.controllers.workloads.pods import WORKLOADS, pods_of
from kschedctl.objects.core import Service
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QUANTITY_HINT
from kschedctl.objects.workload import CronJob, DaemonSet, Deployment, Job, PodTemplate, ReplicaSet, StatefulSet
from tests.builders import make_cluster, make_container, make_node, make_object

APP = {"app": "web"}
SPEC = {"containers": [make_container()]}
TEMPLATE = {"metadata": {"labels": APP, "annotations": {"note": "n"}, "name": "ignored"}, "spec": SPEC}
EPHEMERAL = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
SELECTED = {"selector": {"matchLabels": APP}, "template": TEMPLATE}


def test_a_pod_is_taken_as_it_is() -> None:
    pod = make_object(Pod, "pod", namespace="shop", spec=SPEC)
    (made,) = pods_of(pod, make_cluster())
    assert made.pod is pod
    assert (made.replicas, made.objects) == (1, ())


def test_a_pod_template_makes_a_pod_that_nobody_owns() -> None:
    (made,) = pods_of(make_object(PodTemplate, "web", template=TEMPLATE), make_cluster())
    metadata = made.pod.metadata
    assert (metadata.name, metadata.namespace, metadata.owner_references) == ("web-xxxxx", "default", ())
    assert (metadata.labels, metadata.annotations) == (APP, {"note": "n"})


@pytest.mark.parametrize(
    "obj",
    [
        make_object(Deployment, "web", spec=SELECTED),
        make_object(StatefulSet, "web", spec=SELECTED),
        make_object(DaemonSet, "web", spec=SELECTED),
        make_object(ReplicaSet, "web", spec=SELECTED),
        make_object(Job, "web", spec={"template": TEMPLATE}),
        make_object(CronJob, "web", spec={"jobTemplate": {"spec": {"template": TEMPLATE}}}),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_what_every_controller_does(obj: ApiObject) -> None:
    cluster = make_cluster([make_node()])
    (made,) = pods_of(obj, cluster)
    metadata = made.pod.metadata
    assert metadata.namespace == "default"
    assert metadata.labels.items() >= APP.items()
    assert metadata.annotations.items() >= {"note": "n"}.items()
    assert [owner.controller for owner in metadata.owner_references] == [True]
    assert pods_of(obj, cluster) == (made,)


def test_claims_of_ephemeral_volumes_are_made() -> None:
    pod = make_object(Pod, "pod", namespace="shop", spec={**SPEC, "volumes": [EPHEMERAL]})
    (made,) = pods_of(pod, make_cluster())
    (claim,) = made.claims
    (owner,) = claim.metadata.owner_references
    assert (claim.name, claim.namespace, claim.spec.storage_class_name) == ("pod-scratch", "shop", "fast")
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Pod", "pod", pod.metadata.uid, True)
    (again,) = pods_of(pod, make_cluster([], [], claim))
    assert again.claims == ()


def test_all_workloads_can_be_read() -> None:
    assert set(WORKLOADS) <= set(KINDS.values())


def without(key: str, **fields: Any) -> dict[str, Any]:
    return {name: value for name, value in {**SELECTED, **fields}.items() if name != key}


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        pytest.param(
            make_object(Service, "web"),
            "f.yaml: a Service creates no pods\n  kinds that create pods: Pod, Deployment, StatefulSet, DaemonSet, "
            "ReplicaSet, Job, CronJob, ReplicationController, PodTemplate",
            id="a kind that makes no pods",
        ),
        pytest.param(
            make_object(Deployment, "web", spec=without("template")),
            "f.yaml: spec.template: is missing\n  add the pod template",
            id="no template",
        ),
        pytest.param(
            make_object(CronJob, "web"),
            "f.yaml: spec.jobTemplate.spec.template: is missing\n  add the pod template",
            id="no template of a Job",
        ),
        pytest.param(
            make_object(PodTemplate, "web"),
            "f.yaml: template: is missing\n  add the pod template",
            id="an empty PodTemplate",
        ),
        pytest.param(
            make_object(DaemonSet, "web", spec=without("selector")),
            "f.yaml: spec.selector: is missing or empty\n  set matchLabels to labels of the template",
            id="no selector",
        ),
        pytest.param(
            make_object(StatefulSet, "web", spec=without("", selector={"matchLabels": {"app": "db"}})),
            "f.yaml: spec.template.metadata.labels: `selector` does not match template `labels`\n"
            "  spec.selector requires app=db",
            id="a selector that selects other pods",
        ),
        pytest.param(
            make_object(
                ReplicaSet, "web", spec=without("", selector={"matchExpressions": [{"key": "app", "operator": "Is"}]})
            ),
            'f.yaml: spec.selector.matchExpressions[0].operator: "Is" is not a selector operator; '
            "operators: In, NotIn, Exists, DoesNotExist",
            id="a selector that is none",
        ),
        pytest.param(
            make_object(
                Deployment,
                "web",
                spec=without(
                    "", template={**TEMPLATE, "spec": {"containers": [make_container(requests={"cpu": "lots"})]}}
                ),
            ),
            'f.yaml: spec.template.spec.containers[0].resources.requests.cpu: "lots" is not a quantity\n  '
            + QUANTITY_HINT,
            id="a quantity that is none",
        ),
    ],
)
def test_refused(obj: ApiObject, text: str) -> None:
    with pytest.raises(ManifestError) as refused:
        pods_of(obj, make_cluster(), where="f.yaml")
    assert str(refused.value) == text
