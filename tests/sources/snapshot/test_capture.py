"""The content of a captured snapshot, which can be loaded again."""

import gzip
import json
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.cluster_autoscaler import LAST_UPDATED, MACHINE, OpenShiftMachineSet
from kschedctl.objects.coordination import LEADER_ANNOTATION, ConfigMap, Lease, LeaseCandidate, lock_record
from kschedctl.objects.core import Condition, Node
from kschedctl.objects.event import Event
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume, StorageClass
from kschedctl.objects.workload import ReplicaSet
from kschedctl.scheduler.volumes import claims, csi_nodes
from kschedctl.sources.snapshot.anonymize import anonymized, with_pseudonyms
from kschedctl.sources.snapshot.anonymize_messages import anonymous_conditions
from kschedctl.sources.snapshot.capture import (
    READ_ANNOTATIONS,
    Capture,
    capture,
    check_target,
    kept_fields,
    read_conditions,
    write_capture,
)
from kschedctl.sources.snapshot.load import SnapshotReader, load_snapshot
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms
from tests.builders import make_object

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "n1",
        "creationTimestamp": "2026-05-04T10:00:00Z",
        "annotations": {"secret/annotation": "s3cret"},
        "managedFields": [{"manager": "s3cret"}],
    },
    "status": {"allocatable": {"cpu": "4", "pods": "10"}, "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}]},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "shop",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "s3cret"},
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "app",
                "env": [{"name": "PASSWORD", "value": "s3cret"}],
                "args": ["--password=s3cret"],
                "command": ["s3cret"],
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
        "volumes": [{"name": "token", "secret": {"secretName": "s3cret"}}],
    },
    "status": {
        "phase": "Pending",
        "podIP": "10.1.2.3",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}],
    },
}
CLASS: dict[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true", "x": "s3cret"}},
    "provisioner": "csi.example.com",
}
SECRET: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "s3cret"}}


def finished(phase: str) -> dict[str, Any]:
    return {**POD, "metadata": {"name": f"p-{phase.lower()}"}, "status": {"phase": phase}}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.mkdir()
    items = [NODE, POD, CLASS, SECRET, finished("Succeeded"), finished("Failed")]
    (path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (path / "version.json").write_text(json.dumps({"serverVersion": {"gitVersion": "v1.35.2"}}))
    return path


def captured(path: Path) -> Capture:
    return capture(SnapshotReader([path]))


def files(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        yield from ((each.name, each.read_bytes()) for each in sorted(path.iterdir()))
        return
    with tarfile.open(path) as archive:
        for member in archive:
            extracted = archive.extractfile(member)
            assert extracted is not None
            yield member.name, extracted.read()


def test_of_events_the_newest_of_each_object_and_reporter_is_written(source: Path, tmp_path: Path) -> None:
    for name, time in (("old", "2026-05-04T10:00:00Z"), ("new", "2026-05-04T10:05:00Z")):
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": "default"},
            "type": "Warning",
            "message": name,
            "lastTimestamp": time,
            "source": {"component": "kubelet"},
            "involvedObject": {"kind": "Node", "name": "n1"},
        }
        (source / f"{name}.json").write_text(json.dumps(event))
    write_capture(captured(source), tmp_path / "out")
    found = load_snapshot([tmp_path / "out"])
    assert [each.message for each in found.cluster.list(Event)] == ["new"]
    assert list(found.summary.unread()) == []


@pytest.mark.parametrize("name", ["out", "out.tar.gz", "out.tgz"])
def test_written_snapshot_reads_as_the_original(source: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    write_capture(captured(source), target)
    original, found = load_snapshot([source]).cluster, load_snapshot([target]).cluster
    assert found.server_version == "v1.35.2"
    assert found.nodes.names == ("n1",)
    assert [found.pods.pod(i).spec for i in range(len(found.pods))] == [original.pods.pod(0).spec]
    assert found.pods.pod(0).status == original.pods.pod(0).status
    assert [each.metadata.annotations for each in found.list(StorageClass)] == [
        {"storageclass.kubernetes.io/is-default-class": "true"}
    ]
    assert found.taken_at == original.taken_at


@pytest.mark.parametrize("name", ["out", "out.tar.gz"])
def test_nothing_confidential_is_written(source: Path, tmp_path: Path, name: str) -> None:
    write_capture(captured(source), tmp_path / name)
    written = dict(files(tmp_path / name))
    assert b"s3cret" not in b"".join(written.values())
    assert b"10.1.2.3" not in b"".join(written.values())
    assert b"s3cret" not in gzip.decompress((tmp_path / name).read_bytes()) if name.endswith("gz") else True
    # One list per kind that was there, and the header first, where an archive has an order.
    assert sorted(written) == ["nodes.json", "pods.json", "snapshot.json", "storageclasses.json"]
    assert name == "out" or next(iter(written)) == "snapshot.json"


def test_pods_that_have_finished_are_left_out(source: Path) -> None:
    assert [pod.name for pod in captured(source).objects[Pod]] == ["p"]


def test_header_says_what_is_in_it(source: Path, tmp_path: Path) -> None:
    header = capture(SnapshotReader([source]), context="prod").header
    assert header.context == "prod"
    assert not header.anonymized
    assert {kind: n for kind, n in header.kinds.items() if n} == {"Node": 1, "Pod": 1, "StorageClass": 1}
    assert header.captured_at == datetime(2026, 5, 4, 10, tzinfo=UTC)
    # What was captured once is still of that time when it is captured again.
    write_capture(capture(SnapshotReader([source]), context="prod"), tmp_path / "once")
    assert captured(tmp_path / "once").header == header


def test_kinds_that_were_not_listed_stay_so(source: Path, tmp_path: Path) -> None:
    reader = SnapshotReader([source])
    reader.summary.not_listed.add("PersistentVolume")
    once = capture(reader)
    assert "PersistentVolume" not in once.header.kinds
    write_capture(once, tmp_path / "out")
    assert not (tmp_path / "out" / "persistentvolumes.json").exists()
    loaded = load_snapshot([tmp_path / "out"])
    assert loaded.cluster.not_listed == {"PersistentVolume"}
    assert loaded.cluster.is_forbidden(PersistentVolume)


def test_a_kind_that_was_listed_in_one_namespace_stays_so(source: Path, tmp_path: Path) -> None:
    reader = SnapshotReader([source])
    once = capture(reader)
    reader.summary.not_listed.add("Pod")
    reader.summary.listed["Pod"] = "shop"
    once = capture(reader)
    assert once.header.listed_in == {"Pod": "shop"}
    for captured_, namespace in ((once, "shop"), (with_pseudonyms(once)[0], "namespace-1")):
        write_capture(captured_, tmp_path / namespace)
        cluster = load_snapshot([tmp_path / namespace]).cluster
        assert len(cluster.pods) == 1
        assert (cluster.is_forbidden(Pod), cluster.is_forbidden(Pod, namespace)) == (True, False)


def test_force_replaces_a_snapshot_and_nothing_else(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    write_capture(captured(source), target)
    (target / "services.json").write_text("{}")
    with pytest.raises(InputError, match="or give --force"):
        write_capture(captured(source), target)
    write_capture(captured(source), target, force=True)
    assert not (target / "services.json").exists()
    (target / "mine.yaml").touch()
    with pytest.raises(InputError, match=r"only a snapshot, but the folder also has mine\.yaml"):
        write_capture(captured(source), target, force=True)


def test_none_of_a_kind_is_kept_apart_from_a_kind_that_nobody_looked_for(source: Path, tmp_path: Path) -> None:
    empty = {"apiVersion": "v1", "kind": "ServiceList", "items": []}
    (source / "services.json").write_text(json.dumps(empty))
    write_capture(captured(source), tmp_path / "once")
    write_capture(captured(tmp_path / "once"), tmp_path / "twice")
    for folder in ("once", "twice"):
        reader = SnapshotReader([tmp_path / folder])
        assert sum(1 for _ in reader) == 3
        assert reader.summary.listed == dict.fromkeys(("Node", "Pod", "Service", "StorageClass"), "")


def test_annotations_that_volumes_read_are_kept() -> None:
    read = {claims.BIND_COMPLETED, claims.BOUND_BY_CONTROLLER, claims.SELECTED_NODE, csi_nodes.MIGRATED_PLUGINS}
    assert read <= READ_ANNOTATIONS


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("cluster.json", "is neither a folder nor an archive"),
        ("cluster.zip", "is neither a folder nor an archive"),
        ("full", "already exists and is not an empty folder"),
        ("there.tar.gz", "already exists"),
        ("nowhere/cluster.tar.gz", "there is no such folder"),
    ],
)
def test_targets_that_cannot_be_written(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "there.tar.gz").touch()
    with pytest.raises(InputError, match=problem):
        check_target(tmp_path / name)


def test_archive_is_replaced_only_by_a_whole_one(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "cluster.tar.gz"
    target.write_text("old")
    broken = captured(source)
    broken.objects[Pod].append(object())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        write_capture(broken, target, force=True)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    write_capture(captured(source), target, force=True)
    assert tarfile.is_tarfile(target)


FAILURE = Condition(type="ReplicaFailure", status="True", reason="FailedCreate", message='pods "web-" is forbidden')


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController", "Deployment", "StatefulSet"])
def test_the_number_of_replicas_is_kept(kind: str) -> None:
    assert (kind, "status.replicas") in set(kept_fields())


def test_no_replicas_differ_from_an_unknown_number() -> None:
    assert make_object(ReplicaSet, "web", status={"replicas": 0}).status.replicas == 0
    assert make_object(ReplicaSet, "web").status.replicas is None


def test_a_refusal_is_kept_with_its_message_and_other_conditions_are_not() -> None:
    assert read_conditions((FAILURE, Condition(type="Progressing", message="x"))) == (FAILURE,)


def test_an_anonymous_refusal_has_no_message() -> None:
    (found,) = anonymous_conditions((FAILURE,), Pseudonyms())
    assert (found.type, found.reason, found.message) == ("ReplicaFailure", "FailedCreate", "")


UID = "6f1d4c1e-9c3b-4b43-8b5e-0f6f8d3a7d52"
RECORD = {"holderIdentity": f"cp-1_{UID}", "leaseDurationSeconds": 15, "leaderTransitions": 2, "secret": "s3cret"}


def lease(name: str, namespace: str = "kube-system", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def config_map(name: str, **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "kube-system", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"password": "s3cret"}}


OBJECTS = [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cp-1"}},
    lease("kube-scheduler", holderIdentity=f"cp-1_{UID}", renewTime="2026-05-04T12:00:00.123456Z"),
    lease("operator", "tools", holderIdentity="operator-0"),
    lease("cp-1", "kube-node-lease", holderIdentity="cp-1"),
    {
        "apiVersion": "coordination.k8s.io/v1beta1",
        "kind": "LeaseCandidate",
        "metadata": {"name": "cp-1", "namespace": "kube-system"},
        "spec": {"leaseName": "kube-scheduler", "binaryVersion": "1.36.0", "strategy": "OldestEmulationVersion"},
    },
    config_map("settings"),
    config_map("old-lock", **{LEADER_ANNOTATION: json.dumps(RECORD)}),
]


def captured_elections(folder: Path) -> Capture:
    path = folder / "all.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    return capture(SnapshotReader([path]))


def written(folder: Path, capture: Capture) -> tuple[str, Capture]:
    write_capture(capture, folder / "out")
    text = "".join(path.read_text() for path in (folder / "out").iterdir())
    return text, captured(folder / "out")


def test_elections_are_captured_and_heartbeats_are_not(tmp_path: Path) -> None:
    text, again = written(tmp_path, captured_elections(tmp_path))
    assert [one.name for one in again.objects[Lease]] == ["kube-scheduler", "operator"]
    assert [one.name for one in again.objects[LeaseCandidate]] == ["cp-1"]
    assert "password" not in text


def test_of_config_maps_only_those_with_a_record_are_read(tmp_path: Path) -> None:
    captured_elections(tmp_path)
    reader = SnapshotReader([tmp_path / "all.json"])
    assert [obj.name for obj, _ in reader if isinstance(obj, ConfigMap)] == ["old-lock"]
    assert reader.summary.left_out == {"ConfigMap": 1}


STATUS = "nodeGroups: [{name: eks-web-1}]"


def status_map(name: str = "cluster-autoscaler-status", namespace: str = "kube-system") -> dict[str, Any]:
    made = config_map(name, **{LAST_UPDATED: "2026-05-04 12:00:00 +0000 UTC", "owner": "payroll"})
    made["metadata"]["namespace"] = namespace
    return {**made, "data": {"status": STATUS, "password": "s3cret", "about": "cluster-autoscaler-status"}}


#: ConfigMaps that are not the status of Cluster Autoscaler, although they have its name or its data.
OTHER_MAPS = [
    status_map(namespace="shop"),
    status_map("cluster-autoscaler-status-old"),
    {**status_map(), "data": {"status": {"not": "text"}}},
]


def captured_maps(folder: Path, *maps: dict[str, Any]) -> Capture:
    path = folder / "all.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [OBJECTS[0], *maps]}))
    return capture(SnapshotReader([path]))


def test_of_the_status_of_cluster_autoscaler_nothing_but_the_status_is_captured(tmp_path: Path) -> None:
    text, again = written(tmp_path, captured_maps(tmp_path, status_map()))
    (found,) = again.objects[ConfigMap]
    assert found.data.status == STATUS  # type: ignore[attr-defined]
    assert found.metadata.annotations == {LAST_UPDATED: "2026-05-04 12:00:00 +0000 UTC"}
    for dropped in ("s3cret", "password", "payroll", "about"):
        assert dropped not in text


@pytest.mark.parametrize("other", OTHER_MAPS, ids=["another namespace", "another name", "no text"])
def test_other_config_maps_are_not_captured(tmp_path: Path, other: dict[str, Any]) -> None:
    assert ConfigMap not in captured_maps(tmp_path, other).objects


def test_a_lock_keeps_no_status(tmp_path: Path) -> None:
    lock = status_map("old-lock")
    lock["metadata"]["annotations"][LEADER_ANNOTATION] = json.dumps(RECORD)
    (found,) = captured_maps(tmp_path, lock).objects[ConfigMap]
    assert found.data.status == ""  # type: ignore[attr-defined]


def test_an_anonymised_capture_has_no_status(tmp_path: Path) -> None:
    text, again = written(tmp_path, anonymized(captured_maps(tmp_path, status_map())))
    assert "eks-web-1" not in text
    assert again.objects[ConfigMap] == []
    assert again.header.kinds["ConfigMap"] == 0


MACHINES = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "MachineSet",
    "metadata": {
        "name": "payroll-a",
        "namespace": "openshift-machine-api",
        "annotations": {
            "machine.openshift.io/cluster-api-autoscaler-node-group-max-size": "4",
            "machine.openshift.io/memoryMb": "16384",
            "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=arm64,team=payroll",
            "capacity.cluster-autoscaler.kubernetes.io/taints": "team=payroll:NoSchedule",
            "owner": "payroll",
        },
    },
}


def test_pseudonyms_keep_the_nodes_and_sizes_of_a_set_of_machines(tmp_path: Path) -> None:
    metadata = {"name": "a", "annotations": {MACHINE: "openshift-machine-api/payroll-a-x7k2p"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    text, again = written(tmp_path, anonymized(captured_maps(tmp_path, node, MACHINES)))
    assert "payroll" not in text
    (found,) = again.objects[OpenShiftMachineSet]
    annotations = found.metadata.annotations
    assert annotations["machine.openshift.io/cluster-api-autoscaler-node-group-max-size"] == "4"
    assert annotations["machine.openshift.io/memoryMb"] == "16384"
    labels = annotations["capacity.cluster-autoscaler.kubernetes.io/labels"].split(",")
    (key, value) = labels[1].split("=")
    assert labels[0].startswith("kubernetes.io/arch=")
    assert annotations["capacity.cluster-autoscaler.kubernetes.io/taints"] == f"{key}={value}:NoSchedule"
    machine = next(each for each in again.objects[Node] if each.metadata.annotations).metadata.annotations[MACHINE]
    assert machine.rpartition("/")[2].rpartition("-")[0] == found.name


def test_pseudonyms_keep_who_leads_where(tmp_path: Path) -> None:
    text, again = written(tmp_path, anonymized(captured_elections(tmp_path)))
    (node,), leases, (candidate,) = again.objects[Node], again.objects[Lease], again.objects[LeaseCandidate]
    scheduler = next(one for one in leases if one.name == "kube-scheduler")
    host, _, unique = scheduler.spec.holder_identity.partition("_")  # type: ignore[attr-defined]
    assert host == node.name != "cp-1"
    assert candidate.spec.lease_name == "kube-scheduler"  # type: ignore[attr-defined]
    (lock,) = again.objects[ConfigMap]
    record = lock_record(lock.metadata.annotations[LEADER_ANNOTATION])
    assert record is not None
    assert record.holder_identity == scheduler.spec.holder_identity  # type: ignore[attr-defined]
    assert record.leader_transitions == 2
    for told in ("cp-1", UID, "operator", "old-lock", "s3cret", "tools"):
        assert told not in text
    assert unique


@pytest.mark.parametrize("text", ["", "cp-1", "[]", "1", '{"leaseDurationSeconds": "x"}', "{" * 10_000])
def test_what_is_no_record(text: str) -> None:
    assert lock_record(text) is None
