"""A small file does not fill the memory, and what has no end is not waited for."""

import gzip
import io
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kschedctl.cli.batch import print_answers
from kschedctl.common.errors import InputError, SnapshotError
from kschedctl.sources.snapshot.archives import MAX_RATIO, RATIO_FROM, bounded_lines, parse_size
from kschedctl.sources.snapshot.load import SnapshotReader, load_snapshot
from tests.builders import load_engine

pytestmark = pytest.mark.usefixtures("folder")

NODE = b"apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
SIZE = RATIO_FROM + 2 * 1024**2
TIMES = f"unpacks to more than {MAX_RATIO} times its size"
HINT = "to read it anyway, allow more with --max-unpacked"


@cache
def blanks() -> bytes:
    return gzip.compress(b" " * SIZE, 9)


@cache
def tar_of_blanks(kind: bytes = tarfile.REGTYPE) -> bytes:
    member = tarfile.TarInfo("pods.json")
    member.size, member.type = SIZE, kind
    packer = zlib.compressobj(9, wbits=31)
    return packer.compress(member.tobuf()) + packer.compress(bytes(SIZE)) + packer.flush()


@cache
def zip_of_blanks(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("pods.json", b" " * SIZE)
    return stream.getvalue()


def overlapping_zip(n_entries: int = 3000) -> bytes:
    """Entries that all have the same content, which is there once."""
    content = zlib.compress(b" " * 1_000_000, 9)[2:-4]
    name = b"pods.json"
    fields = (20, 0, 8, 0, 0, zlib.crc32(b" " * 1_000_000), len(content), 1_000_000, len(name), 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHHLLLHH", *fields) + name
    central = b"PK\x01\x02" + struct.pack("<HHHHHHLLLHHHHHLL", 20, *fields, 0, 0, 0, 0, 0) + name
    start = len(local) + len(content)
    end = struct.pack("<HHHHLLH", 0, 0, n_entries, n_entries, len(central) * n_entries, start, 0)
    return local + content + central * n_entries + b"PK\x05\x06" + end


@pytest.mark.parametrize(
    ("name", "made", "where"),
    [
        pytest.param("s.json.gz", blanks, "s.json.gz", id="gz"),
        pytest.param("s.tar.gz", tar_of_blanks, "s.tar.gz", id="tar-gz"),
        pytest.param("s.tar.gz", lambda: tar_of_blanks(tarfile.XHDTYPE), "s.tar.gz", id="header-of-a-tar-gz"),
        pytest.param("s.tar.gz", lambda: tar_of_blanks(tarfile.GNUTYPE_LONGNAME), "s.tar.gz", id="name-in-a-tar-gz"),
        pytest.param("s.zip", zip_of_blanks, "s.zip:pods.json", id="zip"),
        pytest.param("s.zip", lambda: zip_of_blanks(zipfile.ZIP_BZIP2), "s.zip:pods.json", id="zip-with-bzip2"),
        pytest.param("s/pods.json.gz", blanks, "s/pods.json.gz", id="gz-in-a-folder"),
    ],
)
def test_what_becomes_many_times_its_size_is_refused(name: str, made: Callable[[], bytes], where: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(made())
    given = name.split("/")[0]
    with pytest.raises(SnapshotError) as raised:
        load_snapshot([given])
    assert str(raised.value) == f"{where}: {TIMES}\n  {HINT}"
    with pytest.raises(SnapshotError, match="times its size"), open(name, "rb") as stream:
        load_snapshot(["-"], stdin=stream)


@pytest.mark.slow
def test_entries_that_overlap_count_together() -> None:
    Path("s.zip").write_bytes(overlapping_zip())
    with pytest.raises(SnapshotError, match="times its size"):
        load_snapshot(["s.zip"])


def test_a_sparse_member_is_refused() -> None:
    member = tarfile.TarInfo("pods.json")
    member.type, member.size = tarfile.GNUTYPE_SPARSE, 512
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[386:482] = b"%011o\0%011o\0" % (0, 512) + bytes(72)
    header[483:495] = b"%011o\0" % (7 * 1024**3)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    Path("s.tar").write_bytes(bytes(header) + b" " * 512 + bytes(1024))
    with pytest.raises(SnapshotError, match=r"s\.tar:pods\.json: is a sparse file, not text"):
        load_snapshot(["s.tar"])


@pytest.mark.parametrize("size", [len(NODE) - 1, len(NODE)])
def test_the_size_is_limited_and_the_limit_a_parameter(size: int) -> None:
    Path("s.yaml.gz").write_bytes(gzip.compress(NODE))
    if size == len(NODE):
        assert [obj.name for obj, _ in SnapshotReader(["s.yaml.gz"], max_unpacked=size)] == ["node-1"]
        assert len(load_engine("s.yaml.gz", max_unpacked=size).nodes) == 1
    else:
        with pytest.raises(SnapshotError, match=f"unpacks to more than {size} bytes"):
            load_engine("s.yaml.gz", max_unpacked=size)
        with pytest.raises(SnapshotError, match=f"standard input: is more than {size} bytes"):
            load_engine("-", stdin=io.BytesIO(NODE), max_unpacked=size)


def test_with_a_size_of_the_users_own_any_ratio_is_taken() -> None:
    Path("s.yaml.gz").write_bytes(gzip.compress(NODE + b"\n" * SIZE, 9))
    assert len(load_engine("s.yaml.gz", max_unpacked=2 * SIZE).nodes) == 1


@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_a_size_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="a size such as 500Mi or 10Gi is expected"):
        parse_size(text)


@pytest.fixture
def pipe() -> Path:
    path = Path("pipe")
    os.mkfifo(path)
    return path


def test_devices_and_pipes_of_a_folder_are_named_and_not_read(pipe: Path) -> None:
    Path("s").mkdir()
    Path("s/nodes.yaml").write_bytes(NODE)
    Path("s/a.json").symlink_to("/dev/zero")
    Path("s/b.json").symlink_to(pipe.resolve())
    os.mkfifo("s/c.json")
    os.mkfifo("s/control")
    (lack,) = load_snapshot(["s"]).cluster.unread
    assert lack.what == "s/a.json, s/b.json and s/c.json were not read (not a regular file)"


@pytest.mark.parametrize("linked", [False, True])
def test_a_device_without_end_is_told_by_its_beginning(linked: bool) -> None:
    if linked:
        Path("zero").symlink_to("/dev/zero")
    with pytest.raises(SnapshotError, match="is a binary file"):
        load_snapshot(["zero" if linked else "/dev/zero"])


def test_a_large_file_of_nothing_is_told_by_its_beginning() -> None:
    with open("pods.json", "wb") as stream:
        stream.truncate(10 * 1024**4)
    with pytest.raises(SnapshotError, match="is a binary file"):
        load_snapshot(["pods.json"])


def test_a_large_file_that_is_no_list_is_held_up_to_the_limit() -> None:
    with open("pods.json", "wb") as stream:
        stream.write(b" " * 10_000)
        stream.truncate(100 * 1024**2)
    with pytest.raises(SnapshotError, match=r"is more than 64 MiB and not a list that can be read in pieces"):
        load_snapshot(["pods.json"], max_unpacked=64 * 1024**2)


def test_a_line_without_end_is_refused() -> None:
    assert list(bounded_lines(io.BytesIO(b"a\nbc"), 2)) == [b"a\n", b"bc"]
    with pytest.raises(InputError, match="a line has more than 2 bytes"):
        list(bounded_lines(io.BytesIO(b"a\nbcd\n"), 2))


@pytest.mark.parametrize("text", [b" ", pytest.param(b"\n", marks=pytest.mark.slow)])
def test_packed_cases_do_not_become_many_times_their_size(text: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    Path("cases.gz").write_bytes(gzip.compress(text * SIZE, 9))
    with pytest.raises(InputError, match=f"the compressed cases: {TIMES}"):
        print_answers("cases.gz", kubernetes_version="", feature_gates={}, jobs=1)
    assert capsys.readouterr().out == ""
