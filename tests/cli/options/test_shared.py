"""``--max-unpacked`` and ``--request-timeout``: what they mean, and that they stand in the commands that are shown."""

import gzip
from pathlib import Path
from typing import Any

import pytest
import typer

from kschedctl.cli.invocation import Invocation
from kschedctl.cli.options.cluster import SourceOptions
from kschedctl.cli.options.shared import MaxUnpackedOption, max_bytes, request_seconds, size
from kschedctl.questions.document import Question
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.sources.live.limits import REQUEST_SECONDS
from kschedctl.sources.snapshot.archives import MAX_RATIO, MAX_UNPACKED, RATIO_FROM, size_text
from tests.cli.in_process import run

NODE = b"apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {allocatable: {cpu: 1, memory: 1Gi, pods: 9}}\n"
POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: web}]}\n"
CASE = b'{"id": "one"}\n'
TIMES = f"unpacks to more than {MAX_RATIO} times its size"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose blanks are packed a thousandfold, and some that are as usual."""
    path = tmp_path_factory.mktemp("packed")
    blanks = b" " * (RATIO_FROM + 2 * 1024**2) + b"\n"
    for name, content in {"nodes.yaml": NODE, "web.yaml": POD}.items():
        (path / name).write_bytes(content)
        (path / f"blown-{name}.gz").write_bytes(gzip.compress(b"#" + blanks + content))
    (path / "blown-cases.gz").write_bytes(gzip.compress(blanks + CASE))
    return path


COMMANDS = [
    pytest.param("explain -f web.yaml --snapshot blown-nodes.yaml.gz", id="snapshot"),
    pytest.param("explain -f blown-web.yaml.gz --snapshot nodes.yaml", id="manifest"),
    pytest.param("explain -f web.yaml --snapshot nodes.yaml --apply blown-web.yaml.gz", id="what-if"),
    pytest.param("preempt -f blown-web.yaml.gz --snapshot nodes.yaml", id="manifest of preempt"),
    pytest.param("volumes -f blown-web.yaml.gz --snapshot nodes.yaml", id="manifest of volumes"),
    pytest.param("diff -f web.yaml --snapshot nodes.yaml --against blown-nodes.yaml.gz", id="the other side"),
    pytest.param("diff -f blown-web.yaml.gz --snapshot nodes.yaml --cordon node-1", id="manifest of diff"),
    pytest.param("snapshot --force -o out --snapshot blown-nodes.yaml.gz", id="what is captured"),
    pytest.param("snapshot info blown-nodes.yaml.gz", id="info"),
    pytest.param("batch blown-cases.gz", id="cases"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_more_is_read_where_it_is_allowed(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    refused = run(*command.split())
    assert (refused.code, TIMES in refused.err) == (2, True)
    assert "allow more with --max-unpacked" in refused.err
    allowed = run(*command.split(), "--max-unpacked", "1Gi")
    assert "unpacks to" not in allowed.err
    assert allowed.out
    less = run(*command.split(), "--max-unpacked", "1Ki")
    assert (less.code, "unpacks to more than 1 KiB" in less.err) == (2, True)


@pytest.mark.parametrize(("text", "n_bytes"), [("500Mi", 500 * 1024**2), ("10Gi", 10 * 1024**3), ("7", 7)])
def test_sizes(text: str, n_bytes: int) -> None:
    source = SourceOptions(snapshot=["a.json"], max_unpacked=text).source()
    assert source.max_bytes == n_bytes
    values = {"snapshot": ["a.json"], "max_unpacked": text}
    shown = Invocation(command="explain", values=values, arguments={}).command_line(Question("", "explain"))
    assert shown == f"kschedctl explain --snapshot a.json --max-unpacked {text}"


@pytest.mark.parametrize("text", ["much", "-1Gi", "0", "10 GB"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="a size such as 500Mi or 10Gi is expected"):
        size(text)


def test_default_is_that_of_the_help() -> None:
    assert max_bytes("") is None
    (option,) = MaxUnpackedOption.__metadata__  # type: ignore[attr-defined]
    default = size_text(MAX_UNPACKED).replace(" ", "").removesuffix("B")
    assert f"Default: {default}, and {MAX_RATIO} times the packed size of each file." in option.help


def suggested(values: dict[str, Any]) -> str:
    return Invocation(command="explain", values=values, arguments={}).command_line(Question("", "explain"))


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("0s", 0), ("7", 7), ("30s", 30), ("1m", 60), ("1m30s", 90), ("1.5s", 1.5)]
)
def test_times(text: str, seconds: float) -> None:
    assert request_seconds(text) == seconds
    source = SourceOptions(request_timeout=text).source()
    assert source.live(AnalysisHandle()).request_seconds == seconds
    assert suggested({"request_timeout": text}) == f"kschedctl explain --request-timeout {text}"


@pytest.mark.parametrize("text", ["-1", "-1s", "soon", "5 s", "1d", "٣", "1e3", "99999999999999"])
def test_no_times(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a duration such as 30s, 2m or 0"):
        SourceOptions(request_timeout=text).source()


def test_default() -> None:
    source = SourceOptions().source()
    assert source.live(AnalysisHandle()).request_seconds == REQUEST_SECONDS
    assert suggested({"request_timeout": ""}) == "kschedctl explain"


def test_snapshot_is_not_asked() -> None:
    with pytest.raises(typer.BadParameter, match="a snapshot is given, too"):
        SourceOptions(snapshot=["a.json"], request_timeout="5s").source()
