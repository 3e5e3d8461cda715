"""Expected actions and messages are those of the PersistentVolume controller of Kubernetes 1.36."""

from typing import Any

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.scheduler.volumes.claims import SELECTED_NODE
from kschedctl.trials.claim_action import ClaimAction
from kschedctl.trials.persistent_volumes import ClaimOutcome, find_best_match, rejected_volumes, sync_claim
from tests.builders import make_claim, make_cluster, make_pod, make_storage_class, make_volume, mount

NOW = make_storage_class("now", waits=False)
LATE = make_storage_class("late")


def sync(claim: PersistentVolumeClaim, *objects: ApiObject) -> ClaimOutcome:
    cluster = make_cluster((), (), claim, *objects)
    stored = cluster.get(PersistentVolumeClaim, claim.name, claim.namespace)
    assert stored is not None
    return sync_claim(cluster, stored)


def now_claim(**fields: Any) -> PersistentVolumeClaim:
    return make_claim(storage_class="now", **fields)


def now_volume(name: str = "pv", **fields: Any) -> PersistentVolume:
    return make_volume(name, storage_class="now", **fields)


@pytest.mark.parametrize(
    ("claim", "volume", "mismatch"),
    [
        pytest.param({"size": "2Gi"}, {"size": "2Gi"}, "", id="just large enough"),
        pytest.param({"size": "2Gi"}, {"size": "1Gi"}, "capacity: wants 2Gi, has 1Gi", id="too small"),
        pytest.param({}, {"storage_class": "other"}, "storageClassName: wants now, has other", id="another class"),
        pytest.param({}, {"storage_class": ""}, "storageClassName: wants now, has none", id="no class"),
        pytest.param(
            {},
            {"storage_class": "", "annotations": {"volume.beta.kubernetes.io/storage-class": "now"}},
            "",
            id="the class in the old annotation",
        ),
        pytest.param(
            {"modes": ["ReadWriteMany"]},
            {},
            "accessModes: wants ReadWriteMany, has ReadWriteOnce",
            id="another access mode",
        ),
        pytest.param({}, {"modes": ["ReadWriteOnce", "ReadWriteMany"]}, "", id="more access modes than asked for"),
        pytest.param(
            {"volumeMode": "Block"}, {}, "volumeMode: wants Block, has Filesystem", id="block against file system"
        ),
        pytest.param(
            {"volumeAttributesClassName": "gold"},
            {"volumeAttributesClassName": "silver"},
            "volumeAttributesClassName: wants gold, has silver",
            id="another attributes class",
        ),
        pytest.param(
            {"selector": {"matchLabels": {"tier": "fast"}}},
            {"labels": {"tier": "slow"}},
            "selector: wants tier=fast, has tier=slow",
            id="labels that the selector does not match",
        ),
        pytest.param(
            {"selector": {"matchLabels": {"tier": "fast"}}}, {"labels": {"tier": "fast"}}, "", id="the selector"
        ),
        pytest.param({}, {"phase": "Released"}, "phase: wants Available, has Released", id="released"),
        pytest.param({}, {"phase": "Pending"}, "phase: wants Available, has Pending", id="not available yet"),
        pytest.param(
            {}, {"claim": "default/else"}, "claimRef: wants default/data, has default/else", id="another claim's volume"
        ),
        pytest.param(
            {},
            {"deleting": True},
            "deletionTimestamp: wants none, has one: the volume is being deleted",
            id="being deleted",
        ),
        pytest.param(
            {}, {"claim": "default/data", "phase": "Pending"}, "", id="a volume that names the claim, any phase"
        ),
        pytest.param(
            {}, {"claim": "default/data", "storage_class": "other"}, "", id="a volume that names the claim, any class"
        ),
        pytest.param(
            {"modes": ["ReadWriteMany"]},
            {"claim": "default/data"},
            "accessModes: wants ReadWriteMany, has ReadWriteOnce",
            id="a volume that names the claim must have the access modes",
        ),
    ],
)
def test_one_claim_and_one_volume(claim: dict[str, Any], volume: dict[str, Any], mismatch: str) -> None:
    outcome = sync(
        make_claim(**{"storage_class": "now", **claim}), make_volume(**{"storage_class": "now", **volume}), NOW
    )
    if mismatch:
        assert outcome.action is ClaimAction.PROVISION
        (rejected,) = outcome.rejected
        assert rejected.volume == "pv"
        assert mismatch in [str(m) for m in rejected.mismatches]
    else:
        assert (outcome.action, outcome.volume, outcome.rejected) == (ClaimAction.BIND, "pv", ())


WAITING = "waiting for first consumer to be created before binding"
NO_CLASS = "no persistent volumes available for this claim and no storage class is set"
CREATED = "Waiting for a volume to be created either by the external provisioner 'DRIVER' or manually by the system"


@pytest.mark.parametrize(
    ("claim", "objects", "action", "message"),
    [
        pytest.param(make_claim(), [LATE], ClaimAction.WAIT_FOR_FIRST_CONSUMER, WAITING, id="nobody uses it yet"),
        pytest.param(
            make_claim(),
            [LATE, make_volume()],
            ClaimAction.WAIT_FOR_FIRST_CONSUMER,
            WAITING,
            id="a volume would be there",
        ),
        pytest.param(
            make_claim(),
            [LATE, make_volume(claim="default/data", phase="Available")],
            ClaimAction.BIND,
            "",
            id="a volume that names it is taken at once",
        ),
        pytest.param(
            make_claim(),
            [LATE, make_pod("web", volumes=mount("data"))],
            ClaimAction.WAIT_FOR_POD,
            "waiting for pod web to be scheduled",
            id="a pod uses it",
        ),
        pytest.param(
            make_claim(),
            [LATE, make_pod("web-0", volumes=mount("data")), make_pod("web-1", volumes=mount("data"))],
            ClaimAction.WAIT_FOR_POD,
            "waiting for pods web-0,web-1 to be scheduled",
            id="pods use it",
        ),
        pytest.param(
            make_claim(),
            [LATE, make_pod("web", namespace="else", volumes=mount("data"))],
            ClaimAction.WAIT_FOR_FIRST_CONSUMER,
            WAITING,
            id="a pod of another namespace uses another claim",
        ),
        pytest.param(
            make_claim(annotations={SELECTED_NODE: "n"}),
            [LATE],
            ClaimAction.PROVISION,
            CREATED.replace("DRIVER", "csi.example.com"),
            id="a node has been selected",
        ),
        pytest.param(
            now_claim(),
            [make_storage_class("now", waits=False, provisioner="kubernetes.io/aws-ebs")],
            ClaimAction.PROVISION,
            CREATED.replace("DRIVER", "ebs.csi.aws.com"),
            id="an in-tree provisioner",
        ),
        pytest.param(
            now_claim(),
            [],
            ClaimAction.PROVISIONING_FAILED,
            'storageclass.storage.k8s.io "now" not found',
            id="a class that does not exist",
        ),
        pytest.param(
            now_claim(),
            [make_storage_class("now", waits=False, provisioner="kubernetes.io/no-provisioner")],
            ClaimAction.PROVISIONING_FAILED,
            "no volume plugin matched name: kubernetes.io/no-provisioner",
            id="a class that does not provision",
        ),
        pytest.param(make_claim(storage_class=""), [NOW], ClaimAction.FAILED_BINDING, NO_CLASS, id="no class wanted"),
        pytest.param(
            make_claim(storage_class=None), [NOW], ClaimAction.FAILED_BINDING, NO_CLASS, id="no default class"
        ),
        pytest.param(
            now_claim(selector={"matchExpressions": [{"key": "tier", "operator": "Like"}]}),
            [NOW],
            ClaimAction.FAILED_BINDING,
            'the selector of claim default/data is wrong: "Like" is not a selector operator',
            id="a selector that is wrong",
        ),
    ],
)
def test_claims_without_a_volume(
    claim: PersistentVolumeClaim, objects: list[ApiObject], action: ClaimAction, message: str
) -> None:
    outcome = sync(claim, *objects)
    assert outcome.action is action
    assert outcome.message.startswith(message)
    assert bool(outcome.message) == bool(message)


@pytest.mark.parametrize(
    ("volume", "action", "message"),
    [
        pytest.param(None, ClaimAction.WAIT_FOR_VOLUME, "", id="it does not exist"),
        pytest.param(make_volume(), ClaimAction.BIND, "", id="it is free"),
        pytest.param(make_volume(phase="Released"), ClaimAction.BIND, "", id="its phase is not asked"),
        pytest.param(make_volume(claim="default/data"), ClaimAction.BIND, "", id="it names the claim"),
        pytest.param(
            make_volume(claim="default/else"),
            ClaimAction.FAILED_BINDING,
            'volume "pv" already bound to a different claim.',
            id="it is another claim's",
        ),
        pytest.param(
            make_volume(size="1Mi"),
            ClaimAction.VOLUME_MISMATCH,
            'Cannot bind to requested volume "pv": requested PV is too small',
            id="it is too small",
        ),
        pytest.param(
            make_volume(storage_class="else"),
            ClaimAction.VOLUME_MISMATCH,
            'Cannot bind to requested volume "pv": storageClassName does not match',
            id="it is of another class",
        ),
        pytest.param(
            make_volume(modes=["ReadOnlyMany"]),
            ClaimAction.VOLUME_MISMATCH,
            'Cannot bind to requested volume "pv": incompatible accessMode',
            id="it has other access modes",
        ),
        pytest.param(
            make_volume(volumeMode="Block", modes=["ReadOnlyMany"]),
            ClaimAction.VOLUME_MISMATCH,
            'Cannot bind to requested volume "pv": incompatible volumeMode',
            id="the first problem is told",
        ),
        pytest.param(
            make_volume(deleting=True, size="1Mi"),
            ClaimAction.VOLUME_MISMATCH,
            'Cannot bind to requested volume "pv": the volume is marked for deletion "pv"',
            id="it is being deleted",
        ),
    ],
)
def test_claims_that_name_their_volume(volume: PersistentVolume | None, action: ClaimAction, message: str) -> None:
    outcome = sync(make_claim(volumeName="pv"), LATE, *([volume] if volume is not None else []))
    assert (outcome.action, outcome.message, outcome.volume) == (action, message, "pv")


LOST = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"


@pytest.mark.parametrize(
    ("objects", "action", "message"),
    [
        pytest.param([make_volume(claim="default/data")], ClaimAction.KEEP, "", id="all is well"),
        pytest.param([make_volume()], ClaimAction.BIND, "", id="the volume has come loose"),
        pytest.param([], ClaimAction.LOST, LOST, id="the volume is gone"),
        pytest.param(
            [make_volume(claim="default/else")],
            ClaimAction.LOST,
            "Two claims are bound to the same volume, this one is bound incorrectly",
            id="the volume is another claim's",
        ),
    ],
)
def test_bound_claims(objects: list[ApiObject], action: ClaimAction, message: str) -> None:
    outcome = sync(make_claim(bound="pv"), *objects)
    assert (outcome.action, outcome.message) == (action, message)


def test_a_bound_claim_without_a_volume_is_lost() -> None:
    claim = make_claim(annotations={"pv.kubernetes.io/bind-completed": "yes"})
    assert sync(claim).message == "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"


def test_a_claim_that_does_not_say_gets_the_default_class() -> None:
    outcome = sync(make_claim(storage_class=None), make_storage_class("standard", waits=False, default=True))
    assert (outcome.action, outcome.default_class) == (ClaimAction.PROVISION, "standard")
    assert outcome.claim.spec.storage_class_name == "standard"
    assert outcome.provisioner == "csi.example.com"


def test_volumes_without_a_class_go_before_the_default_class() -> None:
    standard = make_storage_class("standard", default=True)
    outcome = sync(make_claim(storage_class=None), standard, make_volume(storage_class=""))
    assert (outcome.action, outcome.volume, outcome.default_class) == (ClaimAction.BIND, "pv", "")


def stored(*volumes: PersistentVolume) -> tuple[Cluster, PersistentVolumeClaim]:
    """The cluster and the claim in it, with an API server's defaults."""
    cluster = make_cluster((), (), make_claim(), *volumes)
    (claim,) = cluster.list(PersistentVolumeClaim)
    return cluster, claim


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([make_volume("large", size="9Gi"), make_volume("small", size="2Gi")], "small", id="the smallest"),
        pytest.param(
            [make_volume("small", modes=["ReadWriteOnce", "ReadOnlyMany"]), make_volume("large", size="9Gi")],
            "large",
            id="fewer access modes go before size",
        ),
        pytest.param(
            [make_volume("small"), make_volume("named", size="9Gi", claim="default/data", phase="Available")],
            "named",
            id="one that names the claim goes before size",
        ),
        pytest.param(
            [
                make_volume("few"),
                make_volume("named", claim="default/data", modes=["ReadWriteOnce", "ReadOnlyMany"], phase="Available"),
            ],
            "few",
            id="but not before fewer access modes",
        ),
    ],
)
def test_the_best_of_several_volumes(volumes: list[PersistentVolume], expected: str) -> None:
    cluster, claim = stored(*volumes)
    found = find_best_match(cluster, claim, None, delayed=False)
    assert found is not None
    assert found.name == expected
    others = rejected_volumes(cluster, claim, None, expected)
    assert [rejected.volume for rejected in others] == [v.name for v in volumes if v.name != expected]


def test_of_a_class_that_waits_only_a_volume_that_names_the_claim_is_taken() -> None:
    free, named = make_volume("free"), make_volume("named", claim="default/data", phase="Available")
    assert find_best_match(*stored(free), None, delayed=True) is None
    found = find_best_match(*stored(free, named), None, delayed=True)
    assert found is not None
    assert found.name == "named"
