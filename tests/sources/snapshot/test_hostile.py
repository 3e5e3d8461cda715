"""Whatever is given, the answer is objects or a sentence about the input, within bounds of time and memory."""

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from kschedctl.cli.batch import print_answers
from kschedctl.common.errors import InputError, KschedctlError, SnapshotError
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.selectors import parse_int64
from kschedctl.output.jsonpath import parse_steps, walk
from kschedctl.sources.snapshot.load import SnapshotReader, load_snapshot
from tests.builders import load_engine

pytestmark = pytest.mark.usefixtures("folder")

NODE = b"apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
LONG = "7" * 5000


def node(cpu: object) -> str:
    return f'{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n"}},"status":{{"allocatable":{{"cpu":{cpu}}}}}}}'


@pytest.mark.parametrize("where", ["json", "yaml", "batch"])
@pytest.mark.parametrize(
    "cpu",
    [
        pytest.param(2**63, id="above-int64"),
        pytest.param(10**30, id="above-64-bits"),
        pytest.param(-(10**30), id="below"),
        pytest.param("1" * 5000, id="of-5000-digits"),
        pytest.param(f'"{LONG}"', id="text-of-5000-digits"),
        pytest.param('"' + "1" * 1_000_000 + '"', id="text-of-a-megabyte"),
    ],
)
def test_a_quantity_that_no_server_keeps(cpu: object, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    if where == "batch":
        case = f'{{"id":"a","objects":[{node(cpu)}],"pod":{{"metadata":{{"name":"p"}}}}}}'
        Path("cases").write_text(case)
        print_answers("cases", kubernetes_version="", feature_gates={}, jobs=1)
        captured = capsys.readouterr()
        assert '"error"' in captured.out or '"error"' in captured.err
        return
    Path(f"s.{where}").write_text(node(cpu) if where == "json" else f"--- \n{node(cpu)}\n")
    if where == "yaml" and isinstance(cpu, int) and abs(cpu) > 2**64:
        # kubectl makes a float of it on the way to JSON.
        load_snapshot(["s.yaml"])
        return
    with pytest.raises(SnapshotError) as raised:
        load_snapshot([f"s.{where}"])
    assert len(str(raised.value)) < 2000


@pytest.mark.parametrize("depth", [2000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'], ids=["lists", "objects"])
def test_cases_nested_thousands_deep(depth: int, opening: str, capsys: pytest.CaptureFixture[str]) -> None:
    nested = opening * depth + "1" + ("]" if opening == "[" else "}") * depth
    for line in (nested, f'{{"id":"a","pod":{{"metadata":{{"name":"p"}},"spec":{nested}}}}}'):
        Path("cases").write_text(line + "\n")
        print_answers("cases", kubernetes_version="", feature_gates={}, jobs=1)
        assert '"error"' in capsys.readouterr().out
        Path("s.json").write_text(line)
        with pytest.raises(SnapshotError):
            load_snapshot(["s.json"])
        with pytest.raises(KschedctlError):
            load_engine("-", stdin=io.BytesIO(NODE), config="s.json")


def zip_of(method: int, content: bytes, flags: int = 0) -> bytes:
    name = b"nodes.yaml"
    fields = (20, flags, method, 0, 0, zlib.crc32(NODE), len(content), len(NODE), len(name), 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHHLLLHH", *fields) + name + content
    central = b"PK\x01\x02" + struct.pack("<HHHHHHLLLHHHHHLL", 20, *fields, 0, 0, 0, 0, 0) + name
    return local + central + b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 1, 1, len(central), len(local), 0)


@pytest.mark.parametrize(
    ("method", "content"),
    [
        pytest.param(zipfile.ZIP_DEFLATED, b"\xff" * 30, id="broken-deflate"),
        pytest.param(zipfile.ZIP_DEFLATED, b"", id="empty-deflate"),
        pytest.param(zipfile.ZIP_BZIP2, b"\xff" * 30, id="broken-bzip2"),
        pytest.param(zipfile.ZIP_LZMA, b"\xff" * 30, id="broken-lzma"),
        pytest.param(zipfile.ZIP_LZMA, b"\x09\x04\x05\x00\xff\xff\xff\xff\xff", id="filters-that-lzma-does-not-have"),
        pytest.param(zipfile.ZIP_LZMA, b"", id="empty-lzma"),
        pytest.param(9, b"\xff" * 30, id="deflate64"),
        pytest.param(99, b"\xff" * 30, id="encryption-of-winzip"),
        pytest.param(zipfile.ZIP_STORED, NODE[:-3] + b"xyz", id="wrong-sum"),
    ],
)
def test_a_zip_that_is_corrupt_or_unusual(method: int, content: bytes) -> None:
    Path("s.zip").write_bytes(zip_of(method, content))
    with pytest.raises(SnapshotError, match=r"s\.zip:nodes\.yaml: is (a broken archive|truncated)"):
        load_snapshot(["s.zip"])
    Path("s.zip").write_bytes(zip_of(method, content, flags=0x20))
    with pytest.raises(SnapshotError, match=r"s\.zip"):
        load_snapshot(["s.zip"])


def test_a_name_of_a_megabyte_is_shortened() -> None:
    name = "x" * 1_000_000
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": 5}}
    for text in (json.dumps(pod), f"a: !!int {name}\n", f"apiVersion: v1\nkind: {name}\n", f'{{"kind": "{name}"}}'):
        Path("s").write_text(text)
        with pytest.raises(SnapshotError) as raised:
            list(SnapshotReader(["s"]))
        assert len(str(raised.value)) < 3500, str(raised.value)[:5000]


def test_numbers_of_thousands_of_digits_elsewhere() -> None:
    assert choose_release("", f"v1.{LONG}.0", ()).release
    assert choose_release("", "", [f"v1.35.{LONG}"]).release
    assert parse_int64(LONG) is None
    assert parse_int64("0" * 5000 + "7") == 7
    for path in (f".items[{LONG}]", f".items[1:{LONG}]", LONG):
        with pytest.raises(InputError):
            walk(parse_steps(path), [{"items": [1]}])
