"""A cached snapshot is the snapshot that reading gives, and a cache file that is not exactly right does not count."""

import dataclasses
import gzip
import hashlib
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.errors import SnapshotError
from kschedctl.sources.snapshot import cache as cache_file
from kschedctl.sources.snapshot import cache as cached_load
from kschedctl.sources.snapshot import cache as fingerprint
from kschedctl.sources.snapshot.cache import load_cached
from kschedctl.sources.snapshot.load import Snapshot, SnapshotReader, load_snapshot
from kschedctl.sources.snapshot.names import CACHE_PREFIX
from tests.paths import ROOT

FIXTURES = ROOT / "fixtures"
CLUSTERS = [
    *sorted(FIXTURES.glob("*/cluster")),
    *(path for theme in ("volumes", "optimum") for path in sorted((FIXTURES / theme).iterdir()) if path.is_dir()),
    FIXTURES / "pending",
]
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: node-1}
status:
  allocatable: {cpu: 4, memory: 8Gi, pods: 110}
  conditions: [{type: Ready, lastHeartbeatTime: "2026-05-05T00:00:00Z"}]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of-user"))
    (tmp_path / "snapshots").mkdir()
    monkeypatch.chdir(tmp_path / "snapshots")
    Path("nodes.yaml").write_text(NODE)
    return tmp_path / "snapshots"


def content(snapshot: Snapshot) -> Any:
    """Return everything that a snapshot consists of, and the sharing of specs and labels between pods."""
    cluster = snapshot.cluster
    records = list(cluster.pods.records)
    summary = dataclasses.asdict(snapshot.summary)
    del summary["identities"], summary["passed"]
    return (
        {name: getattr(snapshot, name) for name in ("paths", "scheduler_config", "left_out", "nodes_told", "changes")},
        (cluster.nodes.objects, records, cluster.pods.classes, cluster.server_version, cluster.taken_at),
        (cluster.warnings, cluster.unread, cluster.listed, cluster.not_listed),
        [(kind, list(cluster.list(kind))) for kind in cluster.kinds],
        (summary, snapshot.summary.not_read, [each[:3] for each in snapshot.summary.doubtful()]),
        len({id(record.spec) for record in records}),
        all(record.metadata.labels is cluster.pods.classes[record.class_id].labels for record in records),
    )


def cache_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{CACHE_PREFIX}*"))


def is_cached(path: str = "nodes.yaml", **options: Any) -> bool:
    """Report whether loading takes the snapshot from its cache file, which a change of the stored name shows."""
    return load_cached([path], **options).cluster.nodes.names == ("cached",)


def plant(folder: Path, change: Any = lambda whole: whole) -> Path:
    """Write a cache file whose node has another name than that in the snapshot, with a change of its bytes."""
    load_cached(["nodes.yaml"])
    (file,) = cache_files(folder)
    whole = file.read_bytes()
    start = len(cache_file._FORMAT) + 32
    file.write_bytes(change(whole[:start] + described(whole[start + 40 :].replace(b"node-1", b"cached"))))
    return file


def described(entry: bytes) -> bytes:
    """Return an entry with its digest and length before it."""
    return hashlib.sha256(entry).digest() + len(entry).to_bytes(8, "big") + entry


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_the_cached_snapshot_is_the_one_that_was_read(cluster: Path, folder: Path) -> None:
    shutil.copytree(cluster, "prod")
    read = content(load_snapshot(["prod"]))
    assert content(load_cached(["prod"])) == read
    (file,) = cache_files(folder)
    written = file.stat().st_mtime_ns
    assert content(load_cached(["prod"])) == read
    assert file.stat().st_mtime_ns == written


def test_archives_and_several_paths_are_cached(folder: Path) -> None:
    Path("web.yaml.gz").write_bytes(gzip.compress(b"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"))
    paths = ["nodes.yaml", "web.yaml.gz"]
    read = content(load_snapshot(paths))
    assert [content(load_cached(paths)) for _ in range(2)] == [read, read]
    assert len(cache_files(folder)) == 1


def test_the_second_loading_takes_the_cache(folder: Path) -> None:
    plant(folder)
    assert is_cached()


def test_a_copy_with_another_time_takes_the_cache(folder: Path) -> None:
    plant(folder)
    os.utime("nodes.yaml", (1000, 1000))
    assert is_cached()


def test_a_change_of_one_byte_is_read(folder: Path) -> None:
    plant(folder)
    before = os.stat("nodes.yaml")
    Path("nodes.yaml").write_text(NODE.replace("node-1", "node-2"))
    os.utime("nodes.yaml", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_cached(["nodes.yaml"]).cluster.nodes.names == ("node-2",)


def test_another_limit_is_another_reading(folder: Path) -> None:
    plant(folder)
    assert not is_cached(max_unpacked=10**9)


@pytest.mark.parametrize("name", ["version", "_newest_code"])
def test_another_version_reads_again(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(folder)
    monkeypatch.setattr(fingerprint, name, lambda *_: "another")
    assert not is_cached()


WRONG = {
    "empty": lambda whole: b"",
    "cut": lambda whole: whole[:-1],
    "cut in the header": lambda whole: whole[:40],
    "longer": lambda whole: whole + b"\0",
    "another format": lambda whole: whole.replace(b"cache 3", b"cache 2"),
    "one bit": lambda whole: whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
    "no entry": lambda whole: whole[:50] + described(b"\x90"),
    "a pickle": lambda whole: whole[:50] + described(b"\x80\x05N."),
    "another length": lambda whole: whole[:82] + (len(whole) - 91).to_bytes(8, "big") + whole[90:],
    "a length beyond memory": lambda whole: whole[:82] + b"\xff" * 8 + whole[90:],
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_ignored_and_written_again(change: Any, folder: Path) -> None:
    assert len(cache_file._FORMAT) + 32 == 50
    file = plant(folder, change)
    wrong = file.read_bytes()
    assert not is_cached()
    assert file.read_bytes() != wrong
    assert not is_cached()


def test_a_file_that_others_can_write_is_ignored(folder: Path) -> None:
    file = plant(folder)
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o666)
    assert not is_cached()


def test_a_file_that_was_made_larger_is_not_read(folder: Path) -> None:
    # A terabyte without any content on the disk, which no memory could hold.
    os.truncate(plant(folder), 2**40)
    assert not is_cached()


def test_a_link_is_ignored(folder: Path) -> None:
    file = plant(folder)
    file.rename(folder.parent / "elsewhere")
    file.symlink_to(folder.parent / "elsewhere")
    assert not is_cached()


def test_the_folder_of_the_user_is_used_if_nothing_can_be_written_beside(folder: Path) -> None:
    load_cached(["nodes.yaml"])
    (file,) = cache_files(folder)
    file.unlink()
    # Nothing can be written in place of a folder, not even by root.
    file.mkdir()
    notes: list[str] = []
    load_cached(["nodes.yaml"], note=notes.append)
    (kept,) = cache_files(folder.parent / "of-user" / "kschedctl")
    (note,) = notes
    assert note.startswith("no cache can be written beside the snapshot (")
    assert note.endswith(f": it is in {kept.parent}")
    written = kept.stat().st_mtime_ns
    load_cached(["nodes.yaml"], note=notes.append)
    assert (kept.stat().st_mtime_ns, len(notes)) == (written, 1)


def test_without_any_place_for_it_the_snapshot_is_read(folder: Path) -> None:
    load_cached(["nodes.yaml"])
    (file,) = cache_files(folder)
    file.unlink()
    file.mkdir()
    (folder.parent / "of-user").write_text("no folder")
    notes: list[str] = []
    assert load_cached(["nodes.yaml"], note=notes.append).cluster.nodes.names == ("node-1",)
    assert ", nor in " in notes[0]


def test_writers_at_the_same_time_do_not_disturb_each_other(folder: Path) -> None:
    read = content(load_snapshot(["nodes.yaml"]))
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: content(load_cached(["nodes.yaml"])), range(40)))
    assert loaded == [read] * 40
    assert len(cache_files(folder)) == 1
    assert content(load_cached(["nodes.yaml"])) == read


def test_the_cache_is_in_no_snapshot(folder: Path) -> None:
    shutil.copy("nodes.yaml", "other.yaml")
    load_cached(["nodes.yaml"])
    reader = SnapshotReader(["."])
    assert [str(place) for _, place in reader] == ["./nodes.yaml, document 1", "./other.yaml, document 1"]
    assert reader.summary.passed == []


def test_files_that_change_while_they_are_read_are_not_cached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_late(*arguments: Any, **options: Any) -> Snapshot:
        Path("nodes.yaml").write_text(NODE.replace("node-1", "node-22"))
        return load_snapshot(*arguments, **options)

    monkeypatch.setattr(cached_load, "load_snapshot", load_late)
    assert load_cached(["nodes.yaml"]).cluster.nodes.names == ("node-22",)
    assert cache_files(folder) == []


def test_errors_are_those_of_reading(folder: Path) -> None:
    Path("nodes.yaml").write_text("broken: [")
    for paths in (["nodes.yaml"], ["absent.yaml"], ["nodes.yaml", "-"]):
        with pytest.raises(SnapshotError) as read:
            load_snapshot(paths)
        with pytest.raises(SnapshotError) as cached:
            load_cached(paths)
        assert str(cached.value) == str(read.value)
    assert cache_files(folder) == []
