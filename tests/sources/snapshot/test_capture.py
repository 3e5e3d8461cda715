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
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume, StorageClass
from kschedctl.scheduler.volumes import claims, csi_nodes
from kschedctl.sources.snapshot.anonymize import with_pseudonyms
from kschedctl.sources.snapshot.capture import READ_ANNOTATIONS, Capture, capture, check_target, write_capture
from kschedctl.sources.snapshot.load import SnapshotReader, load_snapshot

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
