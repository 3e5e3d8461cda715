"""Files and their documents: what is broken or unreadable, and where things stand."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from kschedctl.cli.main import app
from kschedctl.linter.lint_files import line_in_template, read_text, split_by_source
from kschedctl.linter.manifest_set import LintManifests
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, lint_files
from tests.example_counts import scaled
from tests.linter.linting import lint

POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  tolerations:\n  - key: a\n    effect: b\n"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (POD, ["Pod"]),
        (f"# nothing\n---\n{POD}---\n\n---\n{POD}...\n", ["Pod", None, "Pod"]),
        (f"--- # said\n{POD}", ["Pod"]),
        # What looks like a separator inside of text is none, unless it stands at the beginning of a line.
        ("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    ---\n    b\n", ["ConfigMap"]),
        (f"%YAML 1.1\n---\n{POD}", ["Pod"]),
        ('{"kind": "Pod", "apiVersion": "v1"}', ["Pod"]),
        ('{"kind": "Pod"}\n{"kind": "Node"}\n', ["Pod", "Node"]),
        ("{kind: Pod}\n", ["Pod"]),
        ("\ufeff" + POD, ["Pod"]),
        ("", [None]),
    ],
)
def test_documents_are_read_each_by_itself(text: str, kinds: list[str | None]) -> None:
    from kschedctl.common.text.characters import utf8_text

    file = read_text(utf8_text(text.encode(), "f"), "f.yaml")
    found = [each.value.get("kind") if isinstance(each.value, dict) else None for each in file.documents]
    assert found == kinds
    assert all(each.broken is None for each in file.documents)


@pytest.mark.parametrize(
    ("steps", "region"),
    [
        ((), (3, 1, 3, 11)),
        (("metadata", "name"), (6, 9, 6, 12)),
        # A block stands where its key does, an item where it begins.
        (("spec", "tolerations"), (8, 3, 8, 14)),
        (("spec", "tolerations", 0), (9, 5, 9, 8)),
        (("spec", "tolerations", 0, "effect"), (10, 13, 10, 14)),
        # What is not there stands where its nearest parent does.
        (("spec", "tolerations", 0, "value"), (9, 5, 9, 8)),
        (("spec", "affinity", "podAffinity"), (7, 1, 7, 5)),
    ],
)
@pytest.mark.parametrize("crlf", [False, True])
def test_fields_have_places(steps: tuple[str | int, ...], region: tuple[int, ...], crlf: bool) -> None:
    text = f"a: 1\n---\n{POD}"
    document = read_text((text.replace("\n", "\r\n") if crlf else text).encode(), "f.yaml").documents[1]
    assert document.region(steps) == region


def test_fields_of_json_have_places() -> None:
    document = read_text(b'{"kind": "Pod"}\n{"kind": "Pod",\n "spec": {"nodeName": "a"}}\n', "f.json").documents[1]
    assert document.region(("spec", "nodeName")) == (3, 23, 3, 26)


@settings(max_examples=scaled(200))
@given(st.lists(st.sampled_from(["a: 1\n", "---\n", "- b\n", "{{ x }}\n", "a: [\n", "...\n", '"\n', "\t\n", "| \n"])))
def test_any_text_is_read_or_told_to_be_broken(pieces: list[str]) -> None:
    file = read_text("".join(pieces).encode(), "f.yaml")
    for document in file.documents:
        assert document.broken is None or document.value is None
        region = document.region(("a", 0, "b"))
        assert 1 <= region.line <= region.end_line
        assert min(region.column, region.end_column) >= 1


REST = "metadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n"
LIST = "apiVersion: v1\nkind: List\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"apiVersion: v1\nkind: Pod\n{REST}", []),
        (f"Kind: Pod\napiVersion: v1\n{REST}", ["1 kind is missing: did you mean kind in place of Kind?"]),
        (f"apiVersion: v1\nknid: Pod\n{REST}", ["2 kind is missing: did you mean kind in place of knid?"]),
        (
            f"apiversion: apps/v1\nkind: Deployment\n{REST}",
            ["1 apiVersion is missing: did you mean apiVersion in place of apiversion?"],
        ),
        (f"Kind: Pod\napiversion: v1\n{REST}", ["1 kind is missing: did you mean kind in place of Kind?"]),
        (f"kind: Pod\n{REST}", ["1 apiVersion is missing: every object needs apiVersion and kind"]),
        (f"apiVersion: v1\n{REST}", ["1 kind is missing: every object needs apiVersion and kind"]),
        (f"apiVersion: v1\nkind:\n{REST}", ["2 kind is missing: every object needs apiVersion and kind"]),
        (f"apiVersion: v1\nkind: [Pod]\n{REST}", ['2 kind: ["Pod"] is not text: ']),
        (f"apiVersion: 1\nkind: Pod\n{REST}", ["1 apiVersion: 1 is not text: "]),
        # Files of other tools.
        (REST, []),
        ("apiVersion: v2\nname: web\nversion: 1.0.0\n", []),
        ("kind: Pod\nreplicas: 2\n", []),
        (f"kind: role\nversion: v7\n{REST}", []),
        (f"kind: '{{{{ kind }}}}'\n{REST}", []),
        (f"apiVersion: '{{{{ version }}}}'\nkind:\n{REST}", []),
        (f"- kind: Pod\n  {REST.replace(chr(10), chr(10) + '  ')}", []),
        # Lists.
        (f"{LIST}items: []\n", []),
        (f"{LIST}items:\n", []),
        (f"{LIST}items: all\n", ['3 items: "all" is not a list: ']),
        (f"{LIST}items: {{kind: Pod}}\n", ['3 items: {"kind": "Pod"} is not a list: ']),
        (f"{LIST}item: []\n", ["3 items is missing: did you mean items in place of item?"]),
        (LIST, ["1 items is missing: an empty list has items: []"]),
        ("apiVersion: v1\nkind: PodList\nmetadata: {}\n", ["1 items is missing: an empty list has items: []"]),
        ("kind: List\nitems: []\n", ["1 apiVersion is missing: every object needs apiVersion and kind"]),
        (f"{LIST}items:\n- apiVersion: v1\n", ["4 kind is missing: every object needs apiVersion and kind"]),
        (f"{LIST}items:\n- {{metadata: {{}}}}\n", ["4 kind is missing: every object needs apiVersion and kind"]),
        (f"{LIST}items: [web]\n", ['3 "web" is not a Kubernetes object: ']),
        (f"{LIST}items: [{{apiVersion: v1, kind: List, items: [7]}}]\n", ["3 7 is not a Kubernetes object: "]),
        # A kind of another group may end with List.
        ("apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: web}\n", []),
    ],
)
def test_a_value_that_is_meant_as_an_object_needs_kind_and_version(text: str, expected: list[str]) -> None:
    assert [f"{each.region.line} {each.message}: {each.help}" for each in lint(text, "KS912")] == expected


@pytest.mark.parametrize(
    ("name", "beside", "found"),
    [
        ("web.yaml", {}, 1),
        ("templates/web.yaml", {"Chart.yaml": "apiVersion: v2\nname: web\n"}, 1),
        ("values.yaml", {"Chart.yaml": "apiVersion: v2\nname: web\n"}, 0),
        ("patch.yaml", {"kustomization.yaml": "patches: [{path: patch.yaml}]\n"}, 0),
    ],
)
def test_values_of_charts_and_patches_are_no_objects(name: str, beside: dict[str, str], found: int) -> None:
    texts = {name: f"kind: Deployment\n{REST}", **beside}
    files = [read_text(text.encode(), each) for each, text in texts.items()]
    request = LintRequest(rules=[rule for rule in RULES if rule.code == "KS912"])
    assert len(lint_files(files, request).found) == found


@pytest.mark.parametrize("kind", ["PodList", "Pod"])
def test_items_of_a_typed_list_have_its_kind(kind: str) -> None:
    pod = "{metadata: {name: web}, spec: {nodeName: node-1, containers: [{name: a, image: b}]}}"
    text = f"apiVersion: v1\nkind: {kind}\nitems:\n- {pod}\n"
    [obj] = LintManifests([read_text(text.encode(), "pods.yaml")]).objects
    assert (obj.api_version, obj.kind, obj.name, obj.typed is not None) == ("v1", "Pod", "web", True)
    assert [f"{each.region.line} {each.rule.code}" for each in lint(text, "KS119")] == ["4 KS119"]


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


def helm_output_lint(*words: str, text: str = OUTPUT) -> Result:
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
    (found,) = json.loads(helm_output_lint("-", *words, "-o", "json").stdout)["findings"]
    assert (found["rule"], found["file"]) == ("KS119", name)


def test_every_form_names_the_template_and_reports_of_repositories_its_line(room: Path) -> None:
    chart(room / "charts/web")
    shown = helm_output_lint("-").stdout
    assert "charts/web/templates/pod.yaml:8:13 KS119 warning" in shown
    assert "line of the rendered output" in shown
    assert "8 |   nodeName: node-1" in shown
    assert "file=charts/web/templates/pod.yaml,line=7,endLine=7," in helm_output_lint("-", "-o", "github").stdout
    (entry,) = json.loads(helm_output_lint("-", "-o", "gitlab").stdout)
    assert entry["location"] == {"path": "charts/web/templates/pod.yaml", "lines": {"begin": 7, "end": 7}}
    (result,) = json.loads(helm_output_lint("-", "-o", "sarif").stdout)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("charts/web/templates/pod.yaml", 7)
    assert 'file="charts/web/templates/pod.yaml"' in helm_output_lint("-", "-o", "junit").stdout


def test_a_rendered_file_is_no_template(room: Path) -> None:
    broken = OUTPUT.replace("nodeName: node-1", "nodeName: [ # {{ $labels.pod }}")
    found = json.loads(helm_output_lint("-", "-o", "json", text=broken).stdout)["findings"]
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


HEAD = "apiVersion: v1\nkind: Pod\n"
FLAWED = f"{HEAD}metadata: {{name: web\n"
UNREADABLE_TEMPLATE = f"{HEAD}metadata:\n  name: {{{{ .Release.Name }}}}\n"
TERRAFORM = f"%{{ for pod in pods ~}}\n{HEAD}metadata: {{name: ${{pod}}}}\n%{{ endfor ~}}\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"web.yaml": FLAWED}, ["KS901 web.yaml"]),
        ({"web.yaml": f"- {HEAD.replace(chr(10), chr(10) + '  ')}metadata: {{name: web\n"}, ["KS901 web.yaml"]),
        ({"web.json": '{"apiVersion": "v1", "kind": "Pod", "spec": }'}, ["KS901 web.json"]),
        # A variable of a shell is no reason for an error elsewhere.
        ({"web.yaml": f"{FLAWED}\n# ${{HOME}}\n"}, ["KS901 web.yaml"]),
        # Files that are no manifests.
        ({"tsconfig.json": '{\n  // options\n  "compilerOptions": {"strict": true,},\n}\n'}, ["counted tsconfig.json"]),
        ({"page.yaml": '<html lang="en">\n<body>: a: b</body>\n</html>\n'}, ["counted page.yaml"]),
        ({"tape.yaml": 'body: \'{"kind": "Pod", "apiVersion": "v1"}\'\nurl: a: b\n'}, ["counted tape.yaml"]),
        ({"values.yaml": "a: [\n"}, ["counted values.yaml"]),
        # Templates of other tools than Helm.
        ({"pods.yaml": TERRAFORM}, ["KS902 pods.yaml", "undecided pods.yaml"]),
        ({"web.yaml": f"{HEAD}spec: {{priority: ${{PRIORITY}}}}\n"}, ["KS902 web.yaml", "undecided web.yaml"]),
        # A placeholder in braces with text beside it.
        ({"web.yaml": f"{HEAD}spec: {{image: {{user}}/web}}\n"}, ["KS902 web.yaml", "undecided web.yaml"]),
        ({"web.yaml": f"{HEAD}metadata:\n  name: {{env}}-web\n"}, ["KS902 web.yaml", "undecided web.yaml"]),
        ({"web.yaml": f"{HEAD}metadata: {{name: web\n"}, ["KS901 web.yaml"]),
        ({"web.yaml": f"{HEAD}metadata:\n  labels: {{app}} x\n"}, ["KS901 web.yaml"]),
        # A variable of a shell in a string, a comment, or a format of curl is no template.
        ({"web.yaml": f"{HEAD}spec: {{args: ['${{HOME}}']]}}\n"}, ["KS901 web.yaml"]),
        ({"web.yaml": f'{HEAD}spec: {{args: ["${{HOME}}"]]}}\n'}, ["KS901 web.yaml"]),
        ({"web.yaml": f"{HEAD}spec: [[}} # ${{HOME}}\n"}, ["KS901 web.yaml"]),
        ({"web.yaml": f"{HEAD}args: |\n  %{{http_code}}\nspec: [[}}\n"}, ["KS901 web.yaml"]),
        ({"testdata/web.yaml": UNREADABLE_TEMPLATE}, ["counted testdata/web.yaml"]),
        (
            {"pkg/testdata/chart/templates/web.yaml": UNREADABLE_TEMPLATE},
            ["counted pkg/testdata/chart/templates/web.yaml"],
        ),
        ({"table.yaml": "a: {{ b }}: c\n"}, ["counted table.yaml"]),
        ({"web.yaml": UNREADABLE_TEMPLATE}, ["KS902 web.yaml"]),
        # Once per chart, subcharts included.
        (
            {"web/templates/a.yaml": UNREADABLE_TEMPLATE, "web/templates/b.yaml": UNREADABLE_TEMPLATE},
            ["KS902 web/templates/a.yaml"],
        ),
        (
            {
                "web/Chart.yaml": "a: 1",
                "web/ci/a.yaml": UNREADABLE_TEMPLATE,
                "web/templates/b.yaml": UNREADABLE_TEMPLATE,
            },
            ["KS902 web/ci/a.yaml"],
        ),
        (
            {
                "web/Chart.yaml": "a: 1",
                "web/templates/b.yaml": UNREADABLE_TEMPLATE,
                "web/charts/db/Chart.yaml": "a: 1",
                "web/charts/db/templates/b.yaml": UNREADABLE_TEMPLATE,
            },
            ["KS902 web/charts/db/templates/b.yaml"],
        ),
        ({"web/Chart.yaml": "a: 1", "web/values.yaml": "a: [\n"}, ["counted web/values.yaml"]),
    ],
)
def test_only_manifests_are_found_fault_with(files: dict[str, str], expected: list[str]) -> None:
    read = [read_text(text.encode(), name) for name, text in sorted(files.items())]
    done = lint_files(read, LintRequest(rules=[rule for rule in RULES if rule.code in ("KS901", "KS902")]))
    found = [f"{each.rule.code} {each.file.name}" for each in done.found]
    found += [f"counted {each.file.name}" for each in done.no_manifests]
    assert [*found, *(f"undecided {each.object}" for each in done.undecided)] == expected
