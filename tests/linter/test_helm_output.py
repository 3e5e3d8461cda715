"""The output of Helm: findings are in the templates that it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kschedctl.cli.main import app
from kschedctl.linter.helm_output import line_in_template, split_by_source

TEMPLATE = """{{- if .Values.web }}
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}
spec:
  nodeName: {{ .Values.node }}
{{- end }}
"""
OUTPUT = """---
# Source: web/templates/service.yaml
apiVersion: v1
kind: Service
metadata:
  name: web
---
# Source: web/templates/pod.yaml
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  nodeName: node-1
  containers:
  - name: web
    image: nginx
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path


def chart(folder: Path) -> None:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("name: web\n")
    (folder / "templates/pod.yaml").write_text(TEMPLATE)


def lint(*words: str, text: str = OUTPUT) -> Result:
    return CliRunner().invoke(app, ["lint", *words], input=text, env={"COLUMNS": "200"})


@pytest.mark.parametrize(
    ("charts", "words", "name"),
    [
        # Without the chart, the name is the one that Helm writes.
        ([], [], "web/templates/pod.yaml"),
        (["web"], [], "web/templates/pod.yaml"),
        (["charts/web"], [], "charts/web/templates/pod.yaml"),
        (["."], [], "templates/pod.yaml"),
        # Two charts of one name: it is not known which one is meant, unless the user says so.
        (["a/web", "b/web"], [], "web/templates/pod.yaml"),
        (["a/web", "b/web"], ["--stdin-filename", "b/web"], "b/web/templates/pod.yaml"),
        (["a/other"], ["--stdin-filename", "a/other"], "a/other/templates/pod.yaml"),
        ([], ["--stdin-filename", "out.yaml"], "out.yaml"),
    ],
)
def test_findings_are_in_the_template(room: Path, charts: list[str], words: list[str], name: str) -> None:
    for each in charts:
        chart(room / each)
    (found,) = json.loads(lint("-", *words, "-o", "json").stdout)["findings"]
    assert (found["rule"], found["file"]) == ("KS119", name)


def test_every_form_names_the_template_and_reports_of_repositories_its_line(room: Path) -> None:
    chart(room / "charts/web")
    shown = lint("-").stdout
    assert "charts/web/templates/pod.yaml:8:13 KS119 warning" in shown
    assert "line of the rendered output" in shown
    assert "8 |   nodeName: node-1" in shown
    assert "file=charts/web/templates/pod.yaml,line=7,endLine=7," in lint("-", "-o", "github").stdout
    (entry,) = json.loads(lint("-", "-o", "gitlab").stdout)
    assert entry["location"] == {"path": "charts/web/templates/pod.yaml", "lines": {"begin": 7, "end": 7}}
    (result,) = json.loads(lint("-", "-o", "sarif").stdout)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("charts/web/templates/pod.yaml", 7)
    assert 'file="charts/web/templates/pod.yaml"' in lint("-", "-o", "junit").stdout


def test_a_rendered_file_is_no_template(room: Path) -> None:
    broken = OUTPUT.replace("nodeName: node-1", "nodeName: [ # {{ $labels.pod }}")
    found = json.loads(lint("-", "-o", "json", text=broken).stdout)["findings"]
    assert [(each["rule"], each["file"]) for each in found] == [("KS901", "web/templates/pod.yaml")]


def test_documents_without_a_comment_are_of_the_template_before_them() -> None:
    text = b"a: 1\n---\n# Source: web/crds/all.yaml\nb: 1\n---\nc: 1\n---\n# Source: web/templates/d.yaml\nd: 1\n"
    found = split_by_source(text)
    assert [name for name, _ in found] == ["", "web/crds/all.yaml", "web/templates/d.yaml"]
    assert b"c: 1" in found[1][1]
    assert b"".join(part for _, part in found) == text


@pytest.mark.parametrize(
    ("line", "number"),
    [("  paused: true", 3), ("  replicas: 3", 2), ("- name: web", 4), ("image: nginx", 1), ("", 1), ("  }", 1)],
)
def test_a_line_is_found_by_its_text_or_its_key(line: str, number: int) -> None:
    template = ["spec:", "  replicas: {{ .Values.n }}", "  paused: true", "  - name: {{ a }}", "image: a", "image: b"]
    assert line_in_template(template, line) == number
