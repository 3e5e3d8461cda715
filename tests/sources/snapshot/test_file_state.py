"""A file that is written to while it is read is no snapshot of anything."""

from __future__ import annotations

import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kschedctl.common.errors import InputError, SnapshotError
from kschedctl.sources.snapshot.file_state import check_unchanged, state
from kschedctl.sources.snapshot.reading import SnapshotReader
from kschedctl.sources.snapshot.sources import LARGE

SAID = "was changed while it was read\n  read it again once nothing writes to it"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def node(name: str) -> bytes:
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n".encode()


def tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in "ab":
            member = tarfile.TarInfo(f"{name}.yaml")
            member.size = len(node(name))
            archive.addfile(member, io.BytesIO(node(name)))
    return stream.getvalue()


def zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in "ab":
            archive.writestr(f"{name}.yaml", node(name))
    return stream.getvalue()


def large_list() -> bytes:
    item = {"metadata": {"name": "n", "annotations": {"x": "y" * 100_000}}}
    items = b",\n".join([json.dumps(item).encode()] * (LARGE // 100_000 + 10))
    return b'{"kind":"NodeList","apiVersion":"v1","items":[' + items + b"]}"


def appended(path: str) -> None:
    with open(path, "ab") as stream:
        stream.write(b"\n")


def replaced(path: str) -> None:
    content = Path(path).read_bytes()
    Path("new").write_bytes(content)
    times = os.stat(path)
    os.utime("new", ns=(times.st_atime_ns, times.st_mtime_ns))
    Path("new").replace(path)


def rewritten(path: str) -> None:
    content = Path(path).read_bytes()
    with open(path, "r+b") as stream:
        stream.write(content)
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("change", [appended, replaced, rewritten])
@pytest.mark.parametrize(
    ("name", "content", "how"),
    [
        pytest.param("s.tar", tar, "s.tar", id="tar"),
        pytest.param("s.zip", zipped, "s.zip", id="zip"),
        pytest.param("nodes.json", large_list, "nodes.json", id="large-file"),
        pytest.param("s/nodes.json", large_list, "s", id="large-file-of-a-folder"),
    ],
)
def test_a_change_while_it_is_read_is_noticed(
    name: str, content: Callable[[], bytes], how: str, change: Callable[[str], None]
) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(content())
    objects = iter(SnapshotReader([how]))
    next(objects)
    change(name)
    with pytest.raises(SnapshotError) as raised:
        list(objects)
    assert f"{name}: {SAID}" in str(raised.value)


def test_a_file_that_is_only_removed_was_read_whole() -> None:
    Path("s.tar").write_bytes(tar())
    objects = iter(SnapshotReader(["s.tar"]))
    next(objects)
    Path("s.tar").unlink()
    assert len(list(objects)) == 1


def test_what_stays_is_what_was_read() -> None:
    Path("s").write_bytes(b"x")
    with open("s", "rb") as stream:
        before = state(os.fstat(stream.fileno()))
        check_unchanged(stream.fileno(), "s", before)
        appended("s")
        with pytest.raises(InputError, match="was changed while it was read"):
            check_unchanged(stream.fileno(), "s", before)
