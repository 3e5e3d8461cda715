"""Claims without a volume that the scheduler does not bind: classes, provisioners, volumes that do not match."""

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.event import Event
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import StatefulSet
from tests.builders import (
    decide,
    make_claim,
    make_cluster,
    make_csi_node,
    make_event,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.diagnosis.rules.cures import cures

STATIC: dict[str, Any] = {"provisioner": "kubernetes.io/no-provisioner", "waits": False}
CREATE = "create a PersistentVolume of {} or more with ReadWriteOnce and {} (untried)"


def left_by(owner: str, **fields: Any) -> ApiObject:
    """Return a volume that a deleted claim has left."""
    namespace, name = owner.split("/")
    reference = {"namespace": namespace, "name": name, "uid": "uid-of-the-deleted-claim"}
    return make_volume(phase="Released", claimRef=reference, **fields)


#: The provisioner's words about claim data.
FAILED = make_event(
    "PersistentVolumeClaim",
    "data",
    'failed to provision volume with StorageClass "fast": rpc error: over quota',
    "csi.example.com_controller",
    reason="ProvisioningFailed",
)


@pytest.mark.parametrize(
    ("objects", "cause", "expected"),
    [
        pytest.param(
            [make_claim(storage_class="gp2"), make_storage_class("gp3")],
            "claim data wants StorageClass gp2, which does not exist: the cluster has gp3",
            [
                "recreate claim data with class gp3: the class of a claim cannot be changed",
                "create StorageClass gp2, with the provisioner of gp3 (untried)",
            ],
            id="missing class",
        ),
        pytest.param(
            [make_claim(storage_class="gp2"), make_storage_class("gp3", waits=False)],
            "claim data wants StorageClass gp2, which does not exist: the cluster has gp3",
            [
                "recreate claim data with class gp3: the class of a claim cannot be changed (untried)",
                "create StorageClass gp2, with the provisioner of gp3 (untried)",
            ],
            id="missing class, and the other one binds at once",
        ),
        pytest.param(
            [make_claim(storage_class="gp2")],
            "claim data wants StorageClass gp2, which does not exist: the snapshot has no StorageClass",
            ["create StorageClass gp2, with the provisioner of the cluster (untried)"],
            id="no class at all",
        ),
        pytest.param(
            [make_claim(storage_class=None), make_storage_class("gp3")],
            "claim data names no StorageClass, and no class is the default (the cluster has gp3)",
            [
                "set storageClassName gp3 in claim data",
                "make gp3 the default: annotation storageclass.kubernetes.io/is-default-class=true (untried)",
            ],
            id="no default class",
        ),
        pytest.param(
            [make_claim(storage_class=None)],
            "claim data names no StorageClass, and no class is the default",
            ["install a provisioner with a default StorageClass, or create a PersistentVolume for the claim (untried)"],
            id="no class and no default class",
        ),
        pytest.param(
            [make_claim(storage_class=None), make_volume(storage_class="manual", phase="Available")],
            "claim data names no StorageClass, and no class is the default",
            ["if volume pv is meant for claim data: recreate the claim with storageClassName manual (untried)"],
            id="no class, and a volume of one",
        ),
        pytest.param(
            [make_claim(storage_class=None), make_storage_class("gp3", default=True)],
            "claim data has no StorageClass yet: the PersistentVolume controller has not set the default class gp3",
            ["set storageClassName gp3 in claim data"],
            id="the default class is not set yet",
        ),
        pytest.param(
            [make_claim(storage_class="fast"), make_storage_class("fast", waits=False)],
            "claim data of StorageClass fast has no volume yet: provisioner csi.example.com has not created it "
            "(binding mode Immediate, so it does not wait for the pod)",
            [
                "look at the events of claim data and the log of provisioner csi.example.com (untried)",
                "volumeBindingMode WaitForFirstConsumer in StorageClass fast, which is recreated, if its provisioner "
                "has to know the node (untried)",
            ],
            id="not provisioned",
        ),
        pytest.param(
            [make_claim(storage_class="fast"), make_storage_class("fast", waits=False), FAILED],
            "claim data of StorageClass fast has no volume yet: provisioner csi.example.com has not created it "
            "(binding mode Immediate, so it does not wait for the pod): rpc error: over quota",
            ["repair what provisioner csi.example.com reports of claim data: rpc error: over quota (untried)"],
            id="the provisioner says why it creates no volume",
        ),
        pytest.param(
            [
                make_claim(storage_class="fast"),
                make_storage_class("fast", waits=False),
                make_csi_node("node", limits={"other.csi": None}),
            ],
            "claim data of StorageClass fast has no volume yet: provisioner csi.example.com has not created it "
            "(binding mode Immediate, so it does not wait for the pod); no node has registered CSI driver "
            "csi.example.com",
            [
                "install CSI driver csi.example.com, or repair it: no node has registered it (untried)",
                "look at the events of claim data and the log of provisioner csi.example.com (untried)",
            ],
            id="not provisioned, and the driver is not registered",
        ),
        pytest.param(
            [
                make_claim(storage_class="nfs"),
                make_storage_class("nfs", **STATIC),
                *(make_volume(f"pv-{n}", storage_class="nfs", claim=f"shop/{n}") for n in "abcdef"),
            ],
            "claim data wants class nfs, which has no provisioner, and all 6 volumes of class nfs are bound to other "
            "claims",
            [CREATE.format("1Gi", "class nfs")],
            id="all volumes are taken",
        ),
        pytest.param(
            [
                make_claim(storage_class="nfs", size="10Gi", modes=["ReadWriteMany"]),
                make_storage_class("nfs", **STATIC),
                make_volume("small", storage_class="nfs", size="5Gi", modes=["ReadWriteMany"]),
                make_volume("once", storage_class="nfs", size="20Gi"),
                make_volume("taken", storage_class="nfs", size="20Gi", modes=["ReadWriteMany"], claim="shop/cart"),
            ],
            "claim data wants class nfs, which has no provisioner, and no volume of class nfs matches it: "
            "once offers ReadWriteOnce, not ReadWriteMany; small has 5Gi of the 10Gi; "
            "taken is bound to claim shop/cart",
            ["create a PersistentVolume of 10Gi or more with ReadWriteMany and class nfs (untried)"],
            id="no volume matches",
        ),
        pytest.param(
            [make_claim(storage_class=""), make_storage_class("gp3", default=True)],
            'claim data asks for no StorageClass (storageClassName ""), so nothing provisions a volume, '
            "and the cluster has no volume",
            [CREATE.format("1Gi", "no class")],
            id="explicitly without class",
        ),
        pytest.param(
            [make_claim(storage_class="manual"), left_by("default/old", storage_class="manual")],
            "claim data wants class manual, which only volumes name: there is no such StorageClass to provision one, "
            "and no volume of class manual matches it: pv is Released: it still names claim default/old, which is gone",
            [
                CREATE.format("1Gi", "class manual"),
                "free pv if nobody needs the data of deleted claim default/old (untried)",
            ],
            id="a released volume",
        ),
        pytest.param(
            [make_claim(storage_class="manual"), left_by("default/data", storage_class="manual")],
            "claim data is not bound: its volume pv is Released, as it still names a deleted claim of the same name "
            "by its uid",
            [
                "free volume pv for claim data: remove the uid of the deleted claim from its claimRef (untried)",
                CREATE.format("1Gi", "class manual"),
            ],
            id="the volume of a deleted claim of the same name",
        ),
        pytest.param(
            [make_claim(storage_class=""), make_volume(storage_class="manual")],
            'claim data asks for no StorageClass (storageClassName ""), so nothing provisions a volume, and no volume '
            "matches it: pv has class manual",
            [
                "if volume pv is meant for claim data: recreate the claim with storageClassName manual (untried)",
                CREATE.format("1Gi", "no class"),
            ],
            id="the only volume has another class",
        ),
        pytest.param(
            [make_claim(storage_class="", modes=["ReadWriteMany"]), make_volume(storage_class="")],
            'claim data asks for no StorageClass (storageClassName ""), so nothing provisions a volume, and no volume '
            "matches it: pv offers ReadWriteOnce, not ReadWriteMany",
            [
                "create a PersistentVolume of 1Gi or more with ReadWriteMany and no class (untried)",
                "if volume pv is meant for claim data: recreate the claim with accessModes ReadWriteOnce (untried)",
            ],
            id="the only volume has fewer access modes",
        ),
        pytest.param(
            [make_claim(storage_class="late", bound="", volumeName="pv-9"), make_storage_class()],
            "claim data names volume pv-9, which does not exist",
            None,
            id="a volume name that does not exist",
        ),
        pytest.param(
            [
                make_claim(storage_class="late", size="5Gi", volumeName="pv"),
                make_storage_class(),
                make_volume(claim="default/other"),
            ],
            "claim data names volume pv, which cannot be bound to it: pv is bound to claim default/other",
            ["recreate claim data without volumeName, or with that of a free volume (untried)"],
            id="the named volume is taken",
        ),
        pytest.param(
            [make_claim(storage_class="manual", volumeName="pv"), left_by("default/data", storage_class="manual")],
            "claim data names volume pv, which cannot be bound to it: pv is Released: it still names a deleted claim "
            "of the same name",
            ["free volume pv for claim data: remove the uid of the deleted claim from its claimRef (untried)"],
            id="the named volume is reserved for a deleted claim of the same name",
        ),
        pytest.param(
            [make_claim(storage_class="manual", volumeName="pv"), left_by("default/old", storage_class="manual")],
            "claim data names volume pv, which cannot be bound to it: pv is Released: it still names claim "
            "default/old, which is gone",
            ["look at the data on pv, then free it for claim data: remove its claimRef (untried)"],
            id="the named volume is reserved for a deleted claim of another name",
        ),
        pytest.param(
            [make_claim(storage_class="late", size="5Gi", volumeName="pv"), make_storage_class(), make_volume()],
            "claim data names volume pv, which cannot be bound to it: pv has 1Gi of the 5Gi",
            ["recreate claim data so that it matches pv, or without volumeName (untried)"],
            id="the named volume is too small",
        ),
        pytest.param(
            [
                make_claim(storage_class="manual", size="5Gi", volumeName="pv"),
                left_by("default/data", storage_class="manual"),
            ],
            "claim data names volume pv, which cannot be bound to it: pv is Released: it still names a deleted claim "
            "of the same name",
            [
                "free volume pv for claim data: remove the uid of the deleted claim from its claimRef (untried)",
                "recreate claim data so that it matches pv, or without volumeName (untried)",
            ],
            id="the named volume is too small as well",
        ),
    ],
)
def test_cause(objects: list[ApiObject], cause: str, expected: list[str] | None) -> None:
    decision = decide(make_pod(volumes=mount("data")), make_cluster([make_node()], (), *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    if expected is not None:
        assert cures(decision)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("provisioner", "check"),
    [
        ("ebs.csi.aws.com", "kubectl get csidrivers"),
        ("kubernetes.io/aws-ebs", "kubectl get csidrivers"),
        ("rancher.io/local-path", "kubectl get pods -A | grep local-path"),
    ],
)
def test_where_to_look_for_the_provisioner(provisioner: str, check: str) -> None:
    storage_class = make_storage_class("fast", waits=False, provisioner=provisioner)
    cluster = make_cluster([make_node()], (), make_claim(storage_class="fast"), storage_class)
    (found,) = diagnose(decide(make_pod(volumes=mount("data")), cluster))
    assert found.checks == ("kubectl describe pvc -n default data", check)


def test_claims_with_the_same_missing_class_are_cured_together() -> None:
    claims = [make_claim(name, storage_class="gp2") for name in ("data", "log")]
    decision = decide(
        make_pod(volumes=mount("data", "log")), make_cluster([make_node()], (), *claims, make_storage_class("gp3"))
    )
    (found,) = diagnose(decision)
    assert found.cause == "claims data and log want StorageClass gp2, which does not exist: the cluster has gp3"
    assert cures(decision)[0] == "recreate claims data and log with class gp3: the class of a claim cannot be changed"


def test_the_class_of_a_claim_of_a_stateful_set_is_changed_in_its_template() -> None:
    spec = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
    objects = [
        make_object(StatefulSet, "db", namespace="default", spec=spec),
        make_claim("data-db-0", storage_class="gp2"),
        make_storage_class("gp3"),
    ]
    decision = decide(make_pod("db-0", volumes=mount("data-db-0")), make_cluster([make_node()], (), *objects))
    first = suggest(decision).suggestions[0]
    assert first.summary == (
        "change volumeClaimTemplates of StatefulSet default/db (recreate it with --cascade=orphan), then recreate "
        "claim data-db-0 with class gp3"
    )
    assert first.remedies[0].command.startswith(
        "kubectl delete statefulset -n default db --cascade=orphan && kubectl delete pvc -n default data-db-0  # then"
    )


def test_a_pod_that_fits_has_no_diagnosis() -> None:
    cluster = make_cluster([make_node()], (), make_claim(), make_storage_class())
    assert diagnose(decide(make_pod(volumes=mount("data")), cluster)) == ()


def warning(kind: str, name: str, message: str) -> Event:
    about = {"kind": kind, "namespace": "default", "name": name}
    said: dict[str, Any] = {"type": "Warning", "reason": "ProvisioningFailed", "message": message}
    return make_object(Event, "e", namespace="default", involvedObject=about, source={"component": "csi"}, **said)


CHOSEN = {"volume.kubernetes.io/selected-node": "n1"}
CAUSE = "claim data of StorageClass gp2 waits until provisioner {} creates its volume for node n1"
LOOK = "look at the events of claim data and the log of provisioner {} (untried)"
REPAIR = "repair Pod {}: look at its log and its events (untried)"
NOT_READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
INSTALL = "install CSI driver {0}, or repair it: no node has registered it (untried)"


@pytest.mark.parametrize(
    ("provisioner", "objects", "cause", "expected"),
    [
        pytest.param("csi.example.com", [], CAUSE.format("csi.example.com"), [LOOK], id="nothing is known of drivers"),
        pytest.param(
            "csi.example.com",
            [make_csi_node("n1", limits={"csi.example.com": None})],
            CAUSE.format("csi.example.com"),
            [LOOK],
            id="the driver is registered",
        ),
        pytest.param(
            "csi.example.com",
            [warning("PersistentVolumeClaim", "data", "disk quota exceeded")],
            CAUSE.format("csi.example.com") + ": disk quota exceeded",
            ["repair what provisioner csi.example.com reports of claim data: disk quota exceeded (untried)"],
            id="the provisioner says why",
        ),
        pytest.param(
            "kubernetes.io/aws-ebs",
            [make_csi_node("n1", limits={"efs.csi.aws.com": None})],
            CAUSE.format("kubernetes.io/aws-ebs") + ", and no node has registered CSI driver ebs.csi.aws.com",
            [INSTALL.format("ebs.csi.aws.com"), LOOK],
            id="the driver of a class of the in-tree plugin is not installed",
        ),
        pytest.param(
            "rancher.io/local-path",
            [make_csi_node("n1", limits={"efs.csi.aws.com": None})],
            CAUSE.format("rancher.io/local-path"),
            [LOOK],
            id="a provisioner that is no CSI driver",
        ),
        pytest.param(
            "kubernetes.io/aws-ebs",
            [
                make_pod("ebs-csi-controller-0", node="n1", status=NOT_READY),
                make_pod("efs-csi-controller-0", node="n1"),
            ],
            CAUSE.format("kubernetes.io/aws-ebs") + ", and Pod default/ebs-csi-controller-0 is not ready",
            [REPAIR.format("default/ebs-csi-controller-0"), LOOK],
            id="the controller of the driver is not ready",
        ),
        pytest.param(
            "rancher.io/local-path",
            [make_pod("local-path-provisioner-0")],
            CAUSE.format("rancher.io/local-path") + ", and Pod default/local-path-provisioner-0 has only pending pods",
            [REPAIR.format("default/local-path-provisioner-0"), LOOK],
            id="the provisioner is pending",
        ),
        pytest.param(
            "pd.csi.storage.gke.io",
            [
                make_pod("csi-gce-pd-controller-0", node="n1", status=NOT_READY),
                make_pod("csi-gce-pd-controller-1", node="n1"),
                make_pod("csi-update-0", node="n1", status=NOT_READY),
            ],
            CAUSE.format("pd.csi.storage.gke.io"),
            [LOOK],
            id="another replica of the controller is ready",
        ),
    ],
)
def test_provisioning_cause(provisioner: str, objects: list[ApiObject], cause: str, expected: list[str]) -> None:
    storage_class = make_storage_class("gp2", provisioner=provisioner)
    claim = make_claim(storage_class="gp2", annotations=CHOSEN)
    pods = [each for each in objects if isinstance(each, Pod)]
    others = [each for each in objects if not isinstance(each, Pod)]
    decision = decide(
        make_pod(volumes=mount("data")), make_cluster([make_node("n1")], pods, claim, storage_class, *others)
    )
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert cures(decision) == [one.format(provisioner) for one in expected]


PENDING = {"phase": "Pending"}
CLAIM_WITHOUT_SCHEDULER_CAUSE = (
    "claim data waits for its first consumer, and spec.nodeName n1 bypasses the scheduler, which would choose the "
)
CLAIM_WITHOUT_SCHEDULER_CAUSE += "node for its volume"
SELECTED = "volume.kubernetes.io/selected-node"


@pytest.mark.parametrize(
    ("status", "objects", "causes"),
    [
        pytest.param(PENDING, [make_claim(), make_storage_class()], [CLAIM_WITHOUT_SCHEDULER_CAUSE], id="nodeName"),
        pytest.param({"phase": "Running"}, [make_claim(), make_storage_class()], [], id="the pod runs"),
        pytest.param(
            PENDING,
            [make_claim(annotations={SELECTED: "n1"}), make_storage_class()],
            ["claim data of StorageClass late waits until provisioner csi.example.com creates its volume for node n1"],
            id="the scheduler chose the node",
        ),
        pytest.param(
            PENDING,
            [make_claim(annotations={SELECTED: "n1"}), make_storage_class(), FAILED],
            [
                "claim data of StorageClass late waits until provisioner csi.example.com creates its volume for node "
                "n1: rpc error: over quota"
            ],
            id="the provisioner says why it creates no volume",
        ),
        pytest.param(PENDING, [make_claim(bound="pv"), make_storage_class(), make_volume()], [], id="bound claim"),
        pytest.param(
            PENDING,
            [make_claim(bound="pv"), make_storage_class(), make_volume(), make_csi_node("n1", limits={"other": None})],
            ["CSI driver csi.example.com of claim data is not registered on n1"],
            id="the driver is not registered",
        ),
    ],
)
def test_claim_without_scheduler_cause(status: dict[str, Any], objects: list[ApiObject], causes: list[str]) -> None:
    pod = make_pod(volumes=mount("data"), status=status)
    decision = decide(pod, make_cluster([make_node("n1")], (), *objects))
    assert [one.cause for one in diagnose(decision, "n1")] == causes
    assert not any(one.rule == "claim-without-scheduler" for one in diagnose(decision))


def test_cures_go_through_the_scheduler() -> None:
    cluster = make_cluster([make_node("n1")], (), make_claim(), make_storage_class())
    decision = decide(make_pod(volumes=mount("data"), status=PENDING), cluster)
    assert cures(decision, "n1") == [
        "use nodeSelector kubernetes.io/hostname: n1 instead of nodeName in pod pod, and recreate the pod (untried)",
        f"for once: do the scheduler's part, annotation {SELECTED}=n1 on the claim (untried)",
    ]


def test_without_a_provisioner_nobody_reads_the_annotation() -> None:
    static = make_storage_class(provisioner="kubernetes.io/no-provisioner")
    cluster = make_cluster([make_node("n1")], (), make_claim(), static, make_volume())
    decision = decide(make_pod(volumes=mount("data"), status=PENDING), cluster)
    assert len(cures(decision, "n1")) == 1
