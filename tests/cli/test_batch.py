"""Many cases, in order, whatever the number of processes."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kschedctl.cli.batch import print_answers
from kschedctl.common.errors import InputError, UnsupportedError
from tests.builders import make_node, make_pod


def case(number: int, **fields: Any) -> bytes:
    node = {"apiVersion": "v1", "kind": "Node", **msgspec.to_builtins(make_node("a", cpu=str(number % 3)))}
    pod = msgspec.to_builtins(make_pod(requests={"cpu": "1"}))
    return msgspec.json.encode({"id": f"case-{number}", "objects": [node], "pod": pod, **fields})


def answers(
    path: Path, capsys: pytest.CaptureFixture[str], *, jobs: int = 1, version: str = "1.36"
) -> tuple[int, list[dict[str, Any]], str]:
    n_unreadable = print_answers(str(path), kubernetes_version=version, feature_gates={}, jobs=jobs)
    printed = capsys.readouterr()
    return n_unreadable, [json.loads(line) for line in printed.out.splitlines()], printed.err


def test_processes_answer_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"\n".join(case(i) for i in range(50)))
    one = answers(path, capsys, jobs=1)
    two = answers(path, capsys, jobs=2)
    assert one == two
    assert [found["id"] for found in one[1]] == [f"case-{i}" for i in range(50)]
    assert [bool(found.get("best")) for found in one[1][:3]] == [False, True, True]


def test_gzip_is_told_by_its_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases"
    path.write_bytes(gzip.compress(case(1)))
    assert [found["id"] for found in answers(path, capsys)[1]] == ["case-1"]


@pytest.mark.parametrize(
    ("line", "error", "is_case"),
    [
        (case(1, pod={"spec": {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}}), "not a quantity", True),
        (case(1, pod=5), "Expected `object`", True),
        (case(1, objects=[5]), "Expected `object`", True),
        (case(1, config={"kind": "Other", "apiVersion": "v1"}), 'no kind "Other"', True),
        (b'{"id": "case-1"}', "missing required field `pod`", True),
        (case(1, confg={}), "unknown field `confg`", True),
        (case(1, featureGates={}), "unknown field `featureGates`", True),
        (b'{"id": "case-1", "pods": [], "confg": {}}', "unknown field `confg`", True),
        (b'{"id": "case-1", "pods": [], "then": [{"creat": []}]}', "unknown field `creat` - at `$.then[0]`", True),
        (b'{"pod": {}}', "missing required field `id`", False),
        (b'{"id": 5, "pod": {}}', "Expected `str`", False),
        (b"nonsense", "malformed", False),
        (b"\xff\xfe", "malformed", False),
        (b"[]", "Expected `object`", False),
    ],
    ids=[
        "bad quantity",
        "pod is no object",
        "object is no object",
        "bad configuration",
        "no pod",
        "unknown key beside pod",
        "feature gates beside pod",
        "unknown key beside pods",
        "unknown key of a stage",
        "no id",
        "id is no text",
        "no JSON",
        "no UTF-8",
        "list",
    ],
)
def test_bad_lines_are_answered_and_the_others_too(
    line: bytes, error: str, is_case: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(case(0) + b"\n\n" + line + b"\n" + case(2))
    n_unreadable, found, told = answers(path, capsys)
    assert [answer["id"] for answer in found] == ["case-0", "case-1" if is_case else None, "case-2"]
    assert error in found[1]["error"]
    assert n_unreadable == (0 if is_case else 1)
    assert ("line 3: " in told) is not is_case


def test_truncated_gzip_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl.gz"
    path.write_bytes(gzip.compress(case(1))[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        print_answers(str(path), kubernetes_version="", feature_gates={}, jobs=1)


def test_unknown_version_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"1\.20 is not modelled"):
        print_answers(str(tmp_path), kubernetes_version="1.20", feature_gates={}, jobs=1)
