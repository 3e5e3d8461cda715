import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance import generate, jsonlines
from conformance.cli import main
from kschedctl.common.errors import InputError
from tests.paths import ROOT

README = ROOT / "conformance" / "README.md"


def test_readme_has_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    offered = set(re.findall(r"^    (\w+)(?:  |$)", capsys.readouterr().out, re.MULTILINE))
    section = README.read_text().partition("\n## Commands\n")[2].partition("\n## ")[0]
    assert offered == set(re.findall(r"^\| `(\w+)", section, re.MULTILINE))


def test_generate_writes_a_file_per_theme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    themes = ["--theme", "taints", "--theme", "sequence"]
    assert main(["generate", *themes, "--seed", "4", "--count", "3", "--to", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sequence.jsonl.gz", "taints.jsonl.gz"]
    assert list(jsonlines.read(tmp_path / "taints.jsonl.gz")) == list(generate.cases("taints", 4, 3))
    assert "taints.jsonl.gz: 3 cases" in capsys.readouterr().out


def test_shrink_prints_the_cause_and_what_is_left_of_the_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cases.jsonl"
    jsonlines.write(path, generate.cases("taints", 1, 2))
    assert main(["shrink", str(path), "--case", "taints-1-0002", "--release", "1.36", "--against", "1.34"]) == 1
    printed = capsys.readouterr().out
    first, _, case = printed.partition("\n")
    assert first.startswith("taints-1-0002 scores: ")
    assert "raw.DynamicResources: judge null, ours 0" in first
    assert case.startswith("objects:\n- apiVersion: v1\n  kind: Node\n")
    assert "taint" not in case
    assert main(["shrink", str(path), "--release", "1.36", "--against", "1.36"]) == 0
    assert capsys.readouterr().out == "taints-1-0001: equal\n"


#: Our own rules as the judge; an answer to a race has every other time an attempt less.
JUDGE = """#!{python}
import json, sys
sys.path.insert(0, {root!r})
from conformance.asking import ours
side = ours("1.36")
for n, text in enumerate(sys.stdin):
    case = json.loads(text)
    case.pop("choices", None)
    said = side(case)
    if case["id"] in {races!r} and n % 2:
        said["attempts"].pop()
    if case["id"] in {wrong!r}:
        said["attempts"].append({{"pod": "default/x", "node": "node-x"}})
    print(json.dumps(said), flush=True)
"""


def replaced_judge(path: Path, monkeypatch: pytest.MonkeyPatch, races: list[str], wrong: list[str]) -> None:
    text = JUDGE.format(python=sys.executable, root=str(ROOT), races=races, wrong=wrong)
    path.write_text(text)
    path.chmod(0o755)
    monkeypatch.setattr("conformance.cli.build", lambda release: path)


COMPARED = ["compare", "--release", "1.36", "--theme", "sequence", "--seed", "3", "--count", "4"]


def test_sequences_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replaced_judge(tmp_path / "judge", monkeypatch, races=["sequence-3-0002"], wrong=[])
    assert main(COMPARED) == 0
    assert capsys.readouterr().out == "1.36 sequence        3 of 4 equal, 1 race  attempts 1\n"


def test_a_sequence_that_differs_is_kept_with_its_choices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replaced_judge(tmp_path / "judge", monkeypatch, races=[], wrong=["sequence-3-0003"])
    assert main([*COMPARED, "--to", str(tmp_path)]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first == "1.36 sequence        3 of 4 equal  attempts 1"
    assert second.startswith("sequence-3-0003 attempts: [")
    assert second.endswith('judge {"pod": "default/x", "node": "node-x"}, ours null')
    (case,) = jsonlines.read(tmp_path / "v1.36-sequence.jsonl")
    assert case["choices"]["default/x"] == ["node-x"]


def test_causes_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replaced_judge(tmp_path / "judge", monkeypatch, races=[], wrong=[])
    arguments = ["compare", "--theme", "images", "--seed", "3", "--count", "4", "--causes", "--show", "0", "--release"]
    assert main([*arguments, "1.36"]) == 0
    assert capsys.readouterr().out == "1.36 images          4 of 4 equal\n"
    # The judge answers by the rules of 1.36.
    assert main([*arguments, "1.37"]) == 1
    first, *_ = capsys.readouterr().out.splitlines()[1:]
    assert re.fullmatch(r" +[2-4] scores\.\*\.raw\.VolumeBinding: nothing, a number   \(images-3-000\d\)", first)


def test_what_is_not_recorded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replaced_judge(tmp_path / "judge", monkeypatch, races=["images-3-0002"], wrong=[])
    text = JUDGE.replace('said["attempts"].pop()', 'said["best"] = ["x"]')
    root = str(ROOT)
    made = text.format(python=sys.executable, root=root, races=["images-3-0002"], wrong=[])
    (tmp_path / "judge").write_text(made)
    arguments = ["record", "--release", "1.36", "--theme", "images", "--seed", "3", "--count", "3", "--times", "3"]
    assert main([*arguments, "--to", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "images.jsonl.gz: 2 answers to 3 cases\n" in printed
    assert "left out, not known to the release or a random answer: images-3-0002\n" in printed


def test_sequences_of_two_judges_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replaced_judge(tmp_path / "judge", monkeypatch, races=[], wrong=[])
    assert main([*COMPARED, "--other", "1.37"]) == 0
    assert "not compared: neither judge can follow" in capsys.readouterr().out


def test_coverage_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answers.jsonl.gz"
    status = {
        "code": "Unschedulable",
        "plugin": "NodePorts",
        "reasons": ["node(s) didn't match the requested node name"],
    }
    jsonlines.write(path, [{"id": "x", "filter": {"a": status}}])
    assert main(["coverage", str(path), "--release", "1.36"]) == 0
    assert "     1 NodePorts: node(s) didn't match the requested node name\n" in capsys.readouterr().out
    assert main(["coverage", str(path), "--release", "1.36", "--missing"]) == 1
    assert "SchedulingGates: waiting for scheduling gates: [*]\n" in capsys.readouterr().out


@pytest.mark.slow
def test_recorded_answers_are_counted_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recorded", "--theme", "config", "--release", "1.36"]) == 0
    assert capsys.readouterr().out == "1.36 config        150 of 150 equal\n"
    assert main(["show", "config-36-0001", "--release", "1.36"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["objects", "pod", "config"]


def test_parity_is_up_to_date() -> None:
    assert main(["parity", "--check"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shrink", "FILE", "--case", "y", "--release", "1.36", "--against", "1.34"], "has no case y"),
        (["record", "--release", "1.36", "--seed", "1"], "answers to fresh cases need a place"),
    ],
    ids=["a case that is not there", "no place for fresh answers"],
)
def test_what_cannot_be_done_is_said(arguments: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps({"id": "x"}))
    with pytest.raises(InputError, match=message):
        main([str(path) if argument == "FILE" else argument for argument in arguments])


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1"},
    "status": {"allocatable": {"cpu": "1", "pods": "110"}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod-1", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
}
HELPLESS = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
SAME = f"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, {HELPLESS}"


@pytest.mark.parametrize(
    ("theirs", "status", "told"),
    [
        pytest.param({"reason": "Unschedulable", "message": SAME}, 0, "1.36 recorded: equal\n", id="equal"),
        pytest.param(
            {"reason": "Unschedulable", "message": SAME.replace("Insufficient cpu", "Too many pods")},
            1,
            "1.36 recorded: differs\n kube-scheduler: 0/1 nodes are available: 1 Too many pods.",
            id="another message",
        ),
        pytest.param(
            {"node": "node-1"},
            1,
            "put it on node-1\n ours:           NodeResourcesFit: Insufficient cpu\n",
            id="a pod that runs",
        ),
    ],
)
def test_a_file_is_shown_with_both_answers(
    theirs: dict[str, Any], status: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.json"
    path.write_text(
        json.dumps({"id": "recorded", "objects": [NODE], "pod": POD, "theirs": {"release": "1.36", **theirs}})
    )
    assert main(["show", str(path)]) == status
    assert told in capsys.readouterr().out
