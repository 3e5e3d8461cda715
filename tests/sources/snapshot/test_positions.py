import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding, Location, Position
from kschedctl.sources.snapshot import files
from kschedctl.sources.snapshot.load import SnapshotReader
from kschedctl.sources.snapshot.positions import position_of

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: one}\nstatus:\n  allocatable: {cpu: [2]}\n"
EXPECTED = "status.allocatable.cpu: [2] is a list, a quantity such as 2, 500m or 1.5Gi is expected"
JSON_NODE = (
    '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"},\n "status": {"allocatable": {"cpu": [2]}}}'
)
GOOD_NODE = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "good"}}'
LIST = f'{{"apiVersion": "v1", "kind": "NodeList", "items": [\n{GOOD_NODE},\n{JSON_NODE}]}}'


def indented(text: str, first: str) -> str:
    """YAML as an item of a list."""
    return "".join(f"{'  ' if i else first}{line}\n" for i, line in enumerate(text.splitlines()))


YAML_LIST = f"apiVersion: v1\nkind: List\nitems:\n- {GOOD_NODE}\n{indented(NODE, '- ')}"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        pytest.param(NODE, 5, 22, id="yaml"),
        pytest.param(f"---\n---\n{NODE}", 7, 22, id="empty-documents-count"),
        pytest.param(f"# nothing\n---\n{GOOD_NODE}\n---\n{NODE}", 9, 22, id="second-document"),
        pytest.param(f"\ufeff{NODE}", 5, 22, id="byte-order-mark"),
        pytest.param(JSON_NODE, 2, 36, id="json"),
        pytest.param(f"\n{GOOD_NODE}\n\n{JSON_NODE}\n", 5, 36, id="json-documents"),
        pytest.param(f"{GOOD_NODE}\n---\n{NODE}", 7, 22, id="json-then-yaml"),
        pytest.param(f"{GOOD_NODE}\n---\n{JSON_NODE}", 4, 36, id="yaml-documents-that-are-json"),
        pytest.param(LIST, 4, 36, id="json-list"),
        pytest.param(YAML_LIST, 9, 24, id="yaml-list"),
        pytest.param(f'{{"pods": [],\n"nodes": [{GOOD_NODE},\n{JSON_NODE}]}}', 4, 36, id="simulator-export"),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_what_reading_refuses_is_found_again(
    text: str, line: int, column: int, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = text.encode()
    file = tmp_path / ("snapshot.gz" if packed else "snapshot")
    file.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(InputError) as refused:
        list(SnapshotReader([file]))
    (finding,) = refused.value.findings
    assert str(finding).endswith(EXPECTED)
    assert position_of(finding) == Position(line, column)
    # Large files are read piece by piece and count alike.
    monkeypatch.setattr(files, "LARGE", 1)
    with pytest.raises(InputError) as refused:
        list(SnapshotReader([file]))
    assert refused.value.findings == (finding,)
    assert position_of(finding) == Position(line, column)


def test_broken_text_tells_its_position(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("a: 1\nb: [\n")
    with pytest.raises(InputError) as refused:
        list(SnapshotReader([file]))
    (finding,) = refused.value.findings
    assert (finding.position, position_of(finding)) == (Position(3, 1), Position(3, 1))


def test_a_file_that_is_named_in_words_counts_from_its_first_document(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("profiles:\n- schedulerName: a\n---\nprofiles: []\n")
    finding = Finding("is wrong", "profiles[0].schedulerName", place=str(file))
    assert position_of(finding) == Position(2, 18)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("", id="nowhere"),
        pytest.param(".", id="folder"),
        pytest.param("+node n", id="words"),
        pytest.param(Location("none.yaml"), id="no-such-file"),
        pytest.param(Location("standard input"), id="standard-input"),
        pytest.param(Location("context kind, nodes", item=1), id="live-cluster"),
        pytest.param(Location("nodes.yaml", 2), id="no-such-document"),
        pytest.param(Location("dump.tar:nodes.yaml"), id="archive-member"),
        pytest.param(Location("dump.tar"), id="archive"),
        pytest.param(Location("broken.json"), id="broken-since"),
        pytest.param(Location("empty.yaml"), id="empty-since"),
    ],
)
def test_no_position(place: Location | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nodes.yaml").write_text(NODE)
    Path("broken.json").write_text('{"a": ')
    Path("empty.yaml").write_text("")
    with tarfile.open("dump.tar", "w") as archive:
        member = tarfile.TarInfo("nodes.yaml")
        member.size = len(NODE)
        archive.addfile(member, io.BytesIO(NODE.encode()))
    assert position_of(Finding("is wrong", "status", place=place)) is None


def test_an_item_that_is_gone_since(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text(json.dumps({"kind": "List", "items": [{}]}))
    assert position_of(Finding("is wrong", "spec", place=Location(str(file), item=2))) == Position(1, 18)
