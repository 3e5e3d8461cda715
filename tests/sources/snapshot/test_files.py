import gzip
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kschedctl.common.errors import InputError, SnapshotError
from kschedctl.sources.snapshot.archives import Unpacking
from kschedctl.sources.snapshot.files import LARGE, Source, check_unchanged, read_sources, state
from kschedctl.sources.snapshot.load import SnapshotReader
from kschedctl.sources.snapshot.summary import ReadSummary

FILES = {
    "nodes.json": b"{}",
    "a/pods.yaml": b"a: 1",
    "a/web-0/logs.txt": b"==== START logs ====",
    "b.yml.gz": gzip.compress(b"b: 1"),
    ".hidden/x.yaml": b"x",
    ".y.json": b"x",
    "old.tar.gz": b"x",
    "c/lines.ndjson": b"{}",
}
READ = [("a/pods.yaml", b"a: 1"), ("b.yml.gz", b"b: 1"), ("c/lines.ndjson", b"{}"), ("nodes.json", b"{}")]
OTHER_NAME = "not named .yaml, .yml, .json, .jsonl, .ndjson or one of these with .gz"
NESTED = "archive inside a folder or archive"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        path = tmp_path / "dump" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def read(*paths: str, stdin: bytes | None = None) -> tuple[list[Source], list[str], dict[str, int]]:
    summary = ReadSummary()
    found = list(read_sources(paths, None if stdin is None else io.BytesIO(stdin), summary, Unpacking()))
    return (
        [each for each in found if isinstance(each, Source)],
        [str(each) for each in found if isinstance(each, InputError)],
        dict(summary.not_read),
    )


def tar_of_files(mode: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in FILES.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size, member.mtime = len(content), 2000
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "nodes.json"
        archive.addfile(link)
    return stream.getvalue()


def zip_of_files() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.mkdir("a")
        for name, content in FILES.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content)
    return stream.getvalue()


def test_a_folder_is_read_recursively_in_the_order_of_names(folder: Path) -> None:
    found, errors, not_read = read("dump")
    assert [(each.name, each.content) for each in found] == [(f"dump/{name}", content) for name, content in READ]
    assert not any(each.named for each in found)
    assert errors == []
    assert not_read == {"hidden": 2, OTHER_NAME: 1, NESTED: 1}


def test_links_to_folders_are_not_followed(folder: Path) -> None:
    (folder / "dump" / "loop").symlink_to(folder / "dump")
    (folder / "dump" / "zz.json").symlink_to(folder / "dump" / "nodes.json")
    found, _, not_read = read("dump")
    assert [each.name for each in found] == [*(f"dump/{name}" for name, _ in READ), "dump/zz.json"]
    assert not_read["link to a folder"] == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("d.tar", tar_of_files("w"), id="tar"),
        pytest.param("d.tar.gz", tar_of_files("w:gz"), id="tar-gz"),
        pytest.param("named-otherwise", tar_of_files("w:gz"), id="tar-gz-of-another-name"),
        pytest.param("d.zip", zip_of_files(), id="zip"),
    ],
)
def test_archives_are_read_like_folders(folder: Path, name: str, content: bytes) -> None:
    Path(name).write_bytes(content)
    for found, errors, not_read in (read(name), read("-", stdin=content)):
        assert sorted((each.name.split(":")[1], each.content) for each in found) == READ
        assert errors == []
        assert (not_read["hidden"], not_read[OTHER_NAME], not_read[NESTED]) == (2, 1, 1)
    assert {each.name.split(":")[0] for each in read(name)[0]} == {name}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("dump/nodes.json", b"{}", id="plain"),
        pytest.param("dump/a/web-0/logs.txt", FILES["a/web-0/logs.txt"], id="any-name-when-the-user-gives-it"),
        pytest.param("dump/b.yml.gz", b"b: 1", id="gz"),
        pytest.param("dump/.y.json", b"x", id="hidden-when-the-user-gives-it"),
    ],
)
def test_a_file_that_the_user_names_is_read(folder: Path, name: str, content: bytes) -> None:
    assert read(name) == ([Source(name, content, True)], [], {})


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gz"])
def test_standard_input(compress: bool) -> None:
    content = gzip.compress(b"a: 1") if compress else b"a: 1"
    assert read("-", stdin=content)[0] == [Source("standard input", b"a: 1", True)]


def test_a_pipe_is_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a: 1")
    os.close(writing)
    try:
        (source,) = read(f"/dev/fd/{reading}")[0]
    finally:
        os.close(reading)
    assert source.content == b"a: 1"


def encrypted_zip() -> bytes:
    content = bytearray(zip_of_files())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.find(b"nodes.json")
        at = content.rfind(signature, 0, at if signature == b"PK\x03\x04" else content.rfind(b"nodes.json"))
        content[at + offset] |= 1
    return bytes(content)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("gone.yaml", None, "gone.yaml: there is no such file or folder", id="not-there"),
        pytest.param(
            "t.json.gz",
            gzip.compress(b"x" * 10000)[:-10],
            "t.json.gz: is truncated: the compressed data ends too early",
            id="truncated-gz",
        ),
        pytest.param(
            "t.tgz",
            tar_of_files("w:gz")[:200],
            "t.tgz: is truncated: the compressed data ends too early",
            id="truncated-tar-gz",
        ),
        pytest.param(
            "t.tar", tar_of_files("w")[:700], "t.tar: is a broken archive: unexpected end of data", id="truncated-tar"
        ),
        pytest.param(
            "t.zip", zip_of_files()[:300], "t.zip: is a broken archive: File is not a zip file", id="truncated-zip"
        ),
        pytest.param(
            "b.gz",
            b"\x1f\x8b\x08\x00" + b"\xff" * 50,
            "b.gz: is a broken archive: Error -3 while decompressing data: invalid block type",
            id="broken-gz",
        ),
        pytest.param(
            "b.gz",
            b"\x1f\x8b\x00\x00" + b"\xff" * 50,
            "b.gz: is a broken archive: Unknown compression method",
            id="not-gz",
        ),
        pytest.param(
            "e.zip", encrypted_zip(), "e.zip:nodes.json: is encrypted\n  unpack it and give the folder", id="encrypted"
        ),
    ],
)
def test_what_cannot_be_read_is_one_error(folder: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    assert read(name)[1] == [message]


def test_a_broken_file_does_not_hide_the_others(folder: Path) -> None:
    (folder / "dump" / "b.yml.gz").write_bytes(gzip.compress(b"x")[:-3])
    (folder / "dump" / "dangling.json").symlink_to("nowhere")
    found, errors, _ = read("gone", "dump")
    assert [each.name for each in found] == ["dump/a/pods.yaml", "dump/c/lines.ndjson", "dump/nodes.json"]
    assert errors == [
        "gone: there is no such file or folder",
        "dump/b.yml.gz: is truncated: the compressed data ends too early",
        "dump/dangling.json: there is no such file or folder",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_no_permission(folder: Path) -> None:
    (folder / "dump" / "nodes.json").chmod(0)
    assert read("dump/nodes.json")[1] == ["dump/nodes.json: cannot be read: Permission denied"]


def test_standard_input_that_is_not_there() -> None:
    assert read("-")[1] == ["-: standard input is not available here\n  name a file or a folder"]


SAID = "was changed while it was read\n  read it again once nothing writes to it"


@pytest.fixture(autouse=True)
def file_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
