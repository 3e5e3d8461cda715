"""``kschedctl lint`` as its user sees it: arguments, settings, ignores, baseline, repairs and exit codes."""

import json
import os
import resource
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner, Result

from kschedctl.cli.lint import _paired
from kschedctl.cli.main import app
from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.linter.rules import RULES
from tests.cli.in_process import Printed, run

POD = """apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  nodeName: node-1
  containers:
  - name: web
    image: nginx
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""
CLEAN = POD.replace("  nodeName: node-1\n", "")
INFO = CLEAN.replace("  containers:", "  nodeSelector:\n    kubernetes.io/hostname: node-1\n  containers:")
ERROR = POD.replace("nodeName: node-1", "priority: 7")


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path


def lint(*words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, ["lint", *words], input=text, env={"COLUMNS": "100"})


def code(done: Result) -> int:
    if isinstance(done.exception, KschedctlError):
        return 2
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code


def rules(done: Result) -> list[str]:
    return [each["rule"] for each in json.loads(done.stdout)["findings"]]


def fails(code: str) -> str:
    return next(rule.failing_manifests for rule in RULES if rule.code == code)


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        (CLEAN, [], 0),
        (POD, [], 1),
        (POD, ["--fail-on", "error"], 0),
        (POD, ["--fail-on", "never"], 0),
        (POD, ["--exit-zero"], 0),
        (INFO, [], 0),
        (INFO, ["--fail-on", "info"], 1),
        (INFO, ["--fail-on", "info", "--severity", "warning"], 0),
        (ERROR, ["--fail-on", "error"], 1),
        (POD, ["--select", "KS2"], 0),
        (POD, ["--ignore", "KS1"], 0),
        (POD, ["--ignore", "node-name-set"], 0),
        (CLEAN, ["--extend-select", "KS124", "--fail-on", "info"], 1),
        (CLEAN, ["--select", "KS999"], 2),
        (CLEAN, ["--severity", "bad"], 2),
        (CLEAN, ["-o", "xml"], 2),
        (CLEAN, ["-o", "json", "-o", "sarif"], 2),
        (CLEAN, ["--output-file", "x"], 2),
        (CLEAN, ["--unsafe-fixes"], 2),
        (CLEAN, ["--baseline", "none.jsonl"], 2),
        (CLEAN, ["--kubernetes-version", "1.1"], 2),
        ("apiVersion: v1\nkind: Pod\na: [\n", [], 1),
        ("a: [\n", [], 2),
        ("a: [\n", ["--allow-empty"], 0),
        ("a: 1\n", [], 2),
        ("a: 1\n", ["--allow-empty"], 0),
        ("a: {{ b }}\n", [], 2),
    ],
)
def test_exit_codes(room: Path, text: str, words: list[str], expected: int) -> None:
    (room / "web.yaml").write_text(text)
    assert code(lint("web.yaml", *words)) == expected


def test_a_path_that_is_not_there_is_no_finding(room: Path) -> None:
    done = lint("nothing.yaml")
    assert isinstance(done.exception, InputError)
    assert "there is no such file or folder" in str(done.exception)


def test_strict_says_that_a_rule_could_not_be_decided(room: Path) -> None:
    (room / "web.yaml").write_text(fails("KS117") + "---\na: [\n")
    done = lint("web.yaml", "--select", "KS117", "--fail-on", "info")
    assert code(done) == 0
    assert "not decided: KS117" in done.stdout
    assert code(lint("web.yaml", "--select", "KS117", "--strict")) == 3


def test_standard_input_has_a_name(room: Path) -> None:
    done = lint("-", "-o", "json", "--stdin-filename", "deploy/web.yaml", text=POD)
    assert [each["file"] for each in json.loads(done.stdout)["findings"]] == ["deploy/web.yaml"]
    assert [each["file"] for each in json.loads(lint("-", "-o", "json", text=POD).stdout)["findings"]] == ["-"]


@pytest.mark.parametrize(
    ("order", "forms", "files", "pairs"),
    [
        ("oof", ["human", "sarif"], ["x"], [("human", ""), ("sarif", "x")]),
        ("ofo", ["sarif", "human"], ["x"], [("sarif", "x"), ("human", "")]),
        ("ofof", ["sarif", "json"], ["x", "y"], [("sarif", "x"), ("json", "y")]),
        ("fo", ["sarif"], ["x"], [("sarif", "x")]),
        ("of", ["json"], ["-"], [("json", "")]),
    ],
)
def test_a_file_belongs_to_the_form_named_before_it(
    order: str, forms: list[str], files: list[str], pairs: list[tuple[str, str]]
) -> None:
    assert _paired(forms, files, order) == pairs


def test_several_forms_go_to_several_files(room: Path) -> None:
    (room / "web.yaml").write_text(POD)
    done = lint(
        "web.yaml", "-o", "concise", "-o", "sarif", "--output-file", "x.sarif", "-ojunit", "--output-file=x.xml"
    )
    assert code(done) == 1
    assert done.stdout.startswith("web.yaml:6:13: warning KS119 ")
    assert json.loads((room / "x.sarif").read_text())["version"] == "2.1.0"
    assert (room / "x.xml").read_text().startswith("<?xml")


def test_github_actions_get_annotations_unless_a_form_is_named(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room / "web.yaml").write_text(POD)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert lint("web.yaml").stdout.startswith("::warning file=web.yaml,line=6,")
    assert lint("web.yaml", "-o", "concise").stdout.startswith("web.yaml:6:13: ")


IGNORED = [
    POD.replace("name: web\nspec", "name: web\n  annotations: {ignore.kschedctl.io/KS119: known}\nspec"),
    POD.replace("name: web\nspec", "name: web\n  annotations: {ignore.kschedctl.io/node-name-set: known}\nspec"),
    POD.replace("name: web\nspec", "name: web\n  annotations: {ignore.kschedctl.io/all: known}\nspec"),
    POD.replace("node-1\n", "node-1  # kschedctl: ignore KS119 known\n"),
    POD.replace("  nodeName", "  # kschedctl: ignore KS119: known\n  # and more\n  nodeName"),
]


@pytest.mark.parametrize("text", IGNORED)
def test_annotations_and_comments_ignore_with_their_reason(room: Path, text: str) -> None:
    (room / "web.yaml").write_text(text)
    done = lint("web.yaml", "-o", "json")
    assert rules(done) == []
    [ignored] = json.loads(done.stdout)["ignored"]
    assert (ignored["finding"]["rule"], ignored["reason"]) == ("KS119", "known")
    assert "KS119" in rules(lint("web.yaml", "-o", "json", "--no-ignores"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (POD.replace("  containers", "  # kschedctl: ignore KS119 too late\n  containers"), 7),
        (CLEAN.replace("name: web\nspec", "name: web\n  annotations:\n    ignore.kschedctl.io/KS777: no\nspec"), 6),
    ],
)
def test_an_ignore_that_ignores_nothing_is_found(room: Path, text: str, line: int) -> None:
    (room / "web.yaml").write_text(text)
    found = json.loads(lint("web.yaml", "-o", "json").stdout)["findings"]
    assert [each["line"] for each in found if each["rule"] == "KS910"] == [line]


def test_an_ignore_of_a_rule_that_is_not_asked_is_not_unused(room: Path) -> None:
    (room / "web.yaml").write_text(IGNORED[0])
    assert rules(lint("web.yaml", "-o", "json", "--select", "KS2,KS910")) == []


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("ignore: [KS119]", {"rules": []}),
    ("lint: {ignore: [KS119]}", {"rules": []}),
    ("select: [KS2]", {"rules": []}),
    ("severity: {KS119: error}", {"severity": "error"}),
    ("per-path: {'web.*': [KS119]}", {"rules": []}),
    ("ignores: [{rules: [KS119], names: [w*], reason: known}]", {"rules": []}),
    ("ignores: [{rules: [KS119], names: [x*], reason: known}]", {"rules": ["KS119", "KS910"]}),
]


@pytest.mark.parametrize(("text", "expected"), SETTINGS)
def test_settings(room: Path, text: str, expected: dict[str, Any]) -> None:
    (room / ".kschedctl.yaml").write_text(text)
    (room / "deploy").mkdir()
    (room / "deploy" / "web.yaml").write_text(POD)
    found = json.loads(lint("deploy", "-o", "json").stdout)["findings"]
    assert expected.get("rules", ["KS119"]) == sorted(each["rule"] for each in found)
    assert expected.get("severity", "warning") in {each["severity"] for each in found} | {"warning"}


def test_settings_of_pyproject(room: Path) -> None:
    (room / "pyproject.toml").write_text('[tool.kschedctl.lint]\nignore = ["KS119"]\n')
    (room / "web.yaml").write_text(POD)
    assert rules(lint("web.yaml", "-o", "json")) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ignroe: [KS119]", '"ignroe" is not a setting'),
        ("ignore: [KS777]", '"KS777" is not a rule'),
        ("severity: {KS119: bad}", "'bad' is not error, warning or info"),
        ("ignores: [{rules: [KS119]}]", "has no reason"),
        ("ignores: [{rules: [KS119], reason: x, until: soon}]", "'soon' is not a date"),
        ("ignores: [{rule: [KS119], reason: x}]", '"rule" is not a field of an ignore'),
        ("complete: sure", "'sure' is neither true nor false"),
        ("pod-templates: [{group: apps, kind: Deployment}]", "apps/Deployment is built in"),
        ("[1]", "is not a mapping of settings"),
        ("baseline: {a: b}", "{'a': 'b'} is not text"),
        ("severity: {KS119: {a: b}}", "severity.KS119: {'a': 'b'} is not text"),
        ("ignores: [{reason: x, until: {a: b}}]", "{'a': 'b'} is not a date"),
        ("a: [", "did not find expected"),
    ],
)
def test_wrong_settings_are_told_with_the_place(room: Path, text: str, problem: str) -> None:
    (room / ".kschedctl.yaml").write_text(text)
    (room / "web.yaml").write_text(POD)
    done = lint("web.yaml")
    assert isinstance(done.exception, KschedctlError)
    assert problem in str(done.exception)
    assert ".kschedctl.yaml" in str(done.exception)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tool = 5  # [tool.kschedctl.lint]", "tool: is not a table"),
        ("tool.kschedctl = [1]  # [tool.kschedctl.lint]", "tool.kschedctl: is not a table"),
        (f"[tool.kschedctl.lint]\nselect = {'[' * 50_000}", "is nested too deeply"),
        (f"[tool.kschedctl.lint]\nselect = {'1' * 5000}", "a number has more than 4,300 digits"),
        ("[tool.kschedctl.lint", "Expected ']'"),
    ],
    ids=["tool is a number", "a parent is a list", "nested deeply", "5,000 digits", "syntax"],
)
def test_wrong_toml_is_one_clear_error(room: Path, text: str, problem: str) -> None:
    (room / "pyproject.toml").write_text(text)
    (room / "web.yaml").write_text(POD)
    done = lint("web.yaml")
    assert code(done) == 2
    assert f"pyproject.toml: {problem}" in str(done.exception)


ENTRY = '{"rule": "KS119", "kind": "Pod", "namespace": "", "name": "web", "field": "", "message": "m", "count": %s}'


@pytest.mark.parametrize(
    "line",
    [
        *(ENTRY % count for count in ("1e999", "Infinity", "NaN", "0", "-1", '"2"', "1.5", "9" * 5000)),
        *("[" * 100_000, '{"rule":' * 100_000, "5", "{}", '{"rule": 1}', "\udcff"),
    ],
    ids=lambda line: line[-30:-1].encode(errors="replace").decode()[:20],
)
def test_a_wrong_line_of_a_baseline_is_one_clear_error(room: Path, line: str) -> None:
    (room / "base.jsonl").write_text(f"\n{line}\n", errors="surrogateescape")
    (room / "web.yaml").write_text(POD)
    done = lint("web.yaml", "--baseline", "base.jsonl")
    assert code(done) == 2
    assert "base.jsonl: line 2 is not an entry of a baseline" in str(done.exception)


@pytest.mark.parametrize("option", ["--baseline", "--settings"])
def test_a_file_without_end_is_refused(room: Path, option: str) -> None:
    (room / "web.yaml").write_text(POD)
    done = lint("web.yaml", option, "/dev/zero")
    assert code(done) == 2
    assert "/dev/zero: is more than 64 MiB" in str(done.exception)


@pytest.mark.parametrize("text", [POD, "apiVersion: v1\nkind: Pod\na: ["], ids=["an object", "no YAML"])
@pytest.mark.parametrize("form", ["human", "concise", "json", "jsonl", "sarif", "junit", "github", "gitlab"])
def test_a_file_whose_name_is_not_utf8_is_linted_in_every_form(room: Path, form: str, text: str) -> None:
    Path("caf\udce9.yaml").write_text(text)
    shown = lint(".", "-o", form, "--output-file", "out")
    assert code(shown) == 1
    assert "yaml" in Path("out").read_text(encoding="utf-8")
    assert code(lint(".", "--baseline", "base.jsonl", "--update-baseline")) == 0
    assert code(lint(".", "--baseline", "base.jsonl", "--allow-empty")) == 0


@pytest.mark.parametrize(
    ("content", "written"),
    [(None, True), ("", True), ("\n", True), (POD, False), ("{}\n", False), ('{"rule": "KS119"}\n', False)],
)
def test_only_a_baseline_is_overwritten(room: Path, content: str | None, written: bool) -> None:
    (room / "pod.yaml").write_text(POD)
    file = room / "baseline.jsonl"
    if content is not None:
        file.write_text(content)
    words = ("pod.yaml", "--baseline", "baseline.jsonl", "--update-baseline")
    assert code(lint(*words)) == (0 if written else 2)
    assert (file.read_text() != content) == written
    # A baseline is overwritten again and again.
    assert not written or code(lint(*words)) == 0


def test_a_baseline_leaves_out_what_was_there_and_tells_what_is_gone(room: Path) -> None:
    web = room / "web.yaml"
    web.write_text(POD)
    assert code(lint("web.yaml", "--baseline", "base.jsonl", "--update-baseline")) == 0
    web.write_text(f"# moved\n{POD}---\n{POD.replace('name: web', 'name: other')}")
    done = lint("web.yaml", "--baseline", "base.jsonl", "-o", "json")
    assert [each["object"] for each in json.loads(done.stdout)["findings"]] == ["Pod/other"]
    web.write_text(CLEAN)
    done = lint("web.yaml", "--baseline", "base.jsonl")
    assert code(done) == 0
    assert "obsolete in the baseline: 1 finding;" in done.stdout
    lint("web.yaml", "--baseline", "base.jsonl", "--update-baseline")
    assert (room / "base.jsonl").read_text() == ""


def test_repairs(room: Path) -> None:
    web = room / "web.yaml"
    web.write_text(POD.replace("nodeName: node-1", "priority: 7"))
    done = lint("web.yaml", "--diff")
    assert code(done) == 1
    assert "-  priority: 7\n" in done.stdout
    done = lint("web.yaml", "--fix")
    assert code(done) == 0
    assert "repaired: 1 finding" in done.stdout
    assert web.read_text() == CLEAN
    assert code(lint("web.yaml", "--diff")) == 0


@pytest.mark.parametrize(("words", "offered"), [(["web.yaml"], True), (["-"], False), (["web.json"], False)])
def test_a_repair_is_offered_where_the_file_can_be_written(room: Path, words: list[str], offered: bool) -> None:
    (room / "web.yaml").write_text(ERROR)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
    (room / "web.json").write_text(
        json.dumps({**pod, "spec": {"priority": 7, "containers": [{"name": "web", "image": "a"}]}})
    )
    done = lint(*words, text=ERROR)
    assert f"kschedctl rule {rules(lint(*words, '-o', 'json', text=ERROR))[0]}" in done.stdout
    assert "help: " in done.stdout
    assert ("(--fix)" in done.stdout, "1 safe repair" in done.stdout) == (offered, offered)


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        (
            {"vendor/a.yaml": POD, "node_modules/b.yaml": POD},
            "left out: 1 by node_modules, 1 by vendor; use --allow-empty",
        ),
        ({"a.yaml": "a: 1\n"}, "use --allow-empty"),
    ],
)
def test_no_object_is_found(room: Path, files: dict[str, str], hint: str) -> None:
    for name, text in files.items():
        (room / name).parent.mkdir(exist_ok=True)
        (room / name).write_text(text)
    done = lint(".")
    assert isinstance(done.exception, InputError)
    assert done.exception.findings[0].hint.startswith(hint)


def test_a_repair_that_drops_a_comment_is_asked_for(room: Path) -> None:
    web = room / "web.yaml"
    web.write_text(POD.replace("nodeName: node-1", "priority: 7  # lucky"))
    assert "(--fix --unsafe-fixes)" in lint("web.yaml").stdout
    assert code(lint("web.yaml", "--diff")) == 0
    lint("web.yaml", "--fix", "--unsafe-fixes")
    assert web.read_text() == CLEAN


def test_single_files_do_not_see_one_another(room: Path) -> None:
    one, other = fails("KS204").split("---\n")
    (room / "a.yaml").write_text(one)
    (room / "b.yaml").write_text(other)
    assert rules(lint("a.yaml", "b.yaml", "-o", "json")) == ["KS204"]
    assert rules(lint("a.yaml", "b.yaml", "-o", "json", "--single-files")) == []


def test_kustomizations_list_patches(room: Path) -> None:
    (room / "web.yaml").write_text(POD)
    (room / "kustomization.yaml").write_text("patches:\n- path: ./web.yaml\n")
    assert rules(lint("web.yaml", "-o", "json")) == ["KS908", "KS119"]


@pytest.mark.parametrize(
    ("path", "kustomization", "words", "expected"),
    [
        # An object that is not complete is a mistake, unless its place tells of a patch.
        ("web.yaml", "", [], [("KS908", "warning")]),
        ("web.yaml", "kustomization.yaml", [], [("KS908", "info")]),
        ("prod/more/web.yaml", "kustomization.yaml", ["prod"], [("KS908", "info")]),
        ("prod/web.yaml", "other/kustomization.yaml", ["prod", "other"], [("KS908", "warning")]),
        ("patches/web.yaml", "", [], [("KS908", "info")]),
        ("web-patch.yaml", "", [], [("KS908", "info")]),
        # Standard input is applied as it is.
        ("-", "kustomization.yaml", [], [("KS906", "error")]),
        ("-", "kustomization.yaml", ["-", "--stdin-filename", "web.yaml"], [("KS906", "error")]),
    ],
)
def test_only_patches_may_lack_fields(
    room: Path, path: str, kustomization: str, words: list[str], expected: list[tuple[str, str]]
) -> None:
    text = DEPLOYMENT.replace("image: nginx", "imgae: nginx")
    for name, content in ((path, text), (kustomization, "resources: []\n")):
        if name not in ("-", ""):
            (room / name).parent.mkdir(parents=True, exist_ok=True)
            (room / name).write_text(content)
    done = lint(*(words or [path]), "--ignore", "KS904", "-o", "json", text=text)
    assert [(each["rule"], each["severity"]) for each in json.loads(done.stdout)["findings"]] == expected
    assert code(done) == int(expected[0][1] != "info")


def test_files_that_are_not_checked_are_counted(room: Path) -> None:
    for name, text in (
        ("web.yaml", CLEAN),
        ("tsconfig.json", "{\n  // options\n}\n"),
        ("old/web.yaml", POD),
        ("vendor/web.yaml", POD),
        (".gitignore", "/web.tmp.yaml\n"),
        ("web.tmp.yaml", POD),
        (".kschedctl.yaml", "exclude: old\n"),
    ):
        (room / name).parent.mkdir(exist_ok=True)
        (room / name).write_text(text)
    done = lint(".")
    assert code(done) == 0
    assert "No findings in 2 files with 1 object." in done.stdout
    assert "no manifests: 1 unreadable file, such as tsconfig.json" in done.stdout
    assert "left out: 1 by .gitignore, 1 by exclude in the settings, 1 by vendor" in done.stdout
    summary = json.loads(lint(".", "-o", "json").stdout)["summary"]
    assert summary["noManifests"] == 1
    assert summary["excluded"] == {".gitignore": 1, "exclude in the settings": 1, "vendor": 1}


def test_a_file_that_is_not_complete_is_shown(room: Path) -> None:
    (room / "web.yaml").write_text(DEPLOYMENT.replace("image: nginx", "imgae: nginx"))
    shown = lint("web.yaml").stdout
    assert "KS908 warning a container has no image, and no kustomization is near" in shown
    assert "Deployment/web, A: the API server refuses the object, partial" in shown


NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 4, memory: 4Gi, pods: 9}}\n"


@pytest.mark.parametrize("words", [[], ["--snapshot", "node.yaml"]], ids=["alone", "snapshot"])
@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ([], ["KS706"]),
        (["--feature-gates", "GenericWorkload=true"], []),
        (["--feature-gates", "GenericWorkload=true", "--kubernetes-version", "1.36"], []),
    ],
    ids=["off", "on", "1.36"],
)
def test_feature_gates_decide_about_pod_groups(
    room: Path, words: list[str], gates: list[str], expected: list[str]
) -> None:
    room.joinpath("node.yaml").write_text(NODE)
    pod = CLEAN.replace("  containers:", "  schedulingGroup: {podGroupName: train}\n  containers:")
    assert rules(lint("-", "-o", "json", *words, *gates, text=pod)) == expected


def test_an_unknown_feature_gate_is_refused(room: Path) -> None:
    done = lint("-", "--feature-gates", "GenericWorkloads=true", text=CLEAN)
    assert code(done) == 2
    assert "GenericWorkloads" in str(done.exception)


def test_rules_are_listed(room: Path) -> None:
    lines = lint("--list-rules").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [rule.code for rule in RULES]


def test_statistics(room: Path) -> None:
    (room / "web.yaml").write_text(POD)
    assert lint("web.yaml", "--statistics").stdout.splitlines()[0].split() == ["1", "KS119", "node-name-set"]


PAGE: Final = 4096
#: A budget that the repair of KS306 makes longer.
BUDGET: Final = """apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
"""
REPAIRED: Final = f"{BUDGET}  maxUnavailable: 1\n"


@pytest.fixture
def deploy(tmp_path: Path) -> Path:
    folder = tmp_path / "deploy"
    folder.mkdir()
    return folder


def fix(folder: Path, *words: str) -> Printed:
    """Repair the manifests in the folder ``deploy``, which is the argument unless there are others."""
    paths = () if any(not word.startswith("-") for word in words) else ("deploy",)
    return run("lint", *paths, "--fix", "--select", "KS306", *words, folder=folder.parent)


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def is_repaired(text: str) -> bool:
    return "maxUnavailable: 1" in text


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Make a folder a disk of a few pages, and return True; return False if that is not allowed."""
    folder.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={16 * PAGE}", "tmpfs", str(folder))
    try:
        mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(("umount", str(folder)), check=True)


def fill(folder: Path) -> None:
    """Write to a disk until it is full."""
    with open(folder / "filler", "wb", buffering=0) as stream:
        while True:
            try:
                stream.write(b"x" * PAGE)
            except OSError:
                return


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Make files that grow beyond a size fail, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("form", ["human", "json"])
def test_a_full_disk_loses_no_manifest(deploy: Path, form: str) -> None:
    long = BUDGET + "#" * (2 * PAGE - len(BUDGET) - 1) + "\n"
    with small_disk(deploy / "full") as is_disk:
        for name in ("a.yaml", "full/b.yaml", "z.yaml"):
            (deploy / name).write_text(long if name == "full/b.yaml" else BUDGET)
        if is_disk:
            fill(deploy / "full")
            done = fix(deploy, f"-o{form}")
        else:
            with limited(len(long)):
                done = fix(deploy, f"-o{form}")
        after = texts(deploy)
    after.pop("full/filler", None)
    assert after == {"a.yaml": REPAIRED, "full/b.yaml": long, "z.yaml": REPAIRED}
    assert done.code == 2
    why = "No space left on device" if is_disk else "File too large"
    assert f"error: deploy/full/b.yaml: cannot be written: {why}; the file is kept unchanged\n" in done.err
    assert "note: 2 files repaired: deploy/a.yaml, deploy/z.yaml\n" in done.err
    # The findings are those of the files as they are.
    if form == "json":
        answer = json.loads(done.out)
        assert [each["file"] for each in answer["findings"]] == ["deploy/full/b.yaml"]
        assert answer["summary"]["fixed"] == 2
    else:
        assert "deploy/full/b.yaml:4:1 KS306" in done.out
        assert "repaired: 2 findings" in done.out


def test_files_keep_their_permissions(deploy: Path) -> None:
    modes = {"a.yaml": 0o600, "b.yaml": 0o755, "c.yaml": 0o664}
    for name, mode in modes.items():
        (deploy / name).write_text(BUDGET)
        (deploy / name).chmod(mode)
    assert fix(deploy).code == 0
    assert texts(deploy) == dict.fromkeys(modes, REPAIRED)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in deploy.iterdir()} == modes


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every file")
def test_files_that_must_not_be_written_are_not_replaced(deploy: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (deploy / name).write_text(BUDGET)
    (deploy / "a.yaml").chmod(0o444)
    done = fix(deploy)
    assert texts(deploy) == {"a.yaml": BUDGET, "b.yaml": REPAIRED}
    assert done.code == 2
    assert "error: deploy/a.yaml: cannot be written: Permission denied; the file is kept unchanged\n" in done.err


def test_links_that_leave_the_folder_are_named_and_left(deploy: Path) -> None:
    shared = deploy.parent / "shared.yaml"
    shared.write_text(BUDGET)
    (deploy / "a.yaml").symlink_to("../shared.yaml")
    (deploy / "b.yaml").write_text(BUDGET)
    done = fix(deploy)
    assert (shared.read_text(), (deploy / "b.yaml").read_text()) == (BUDGET, REPAIRED)
    assert (
        f"warning: deploy/a.yaml: is not changed, as it is a link to {shared}, outside of the named folders" in done.err
    )
    assert "deploy/a.yaml:4:1 KS306" in done.out
    assert "(--fix)" not in done.out
    assert done.code == 1
    assert "a.yaml" not in run("lint", "deploy", "--diff", "--select", "KS306", folder=deploy.parent).out


@pytest.mark.parametrize("words", [("deploy", "shared.yaml"), ("deploy/a.yaml",), ("deploy", "deploy/a.yaml")])
def test_files_that_somebody_names_are_written_through_a_link(deploy: Path, words: tuple[str, ...]) -> None:
    shared = deploy.parent / "shared.yaml"
    shared.write_text(BUDGET)
    (deploy / "a.yaml").symlink_to(shared)
    done = fix(deploy, *words)
    assert done.code == 0
    assert (deploy / "a.yaml").is_symlink()
    assert shared.read_text() == REPAIRED


def test_links_inside_of_the_folder_stay_links(deploy: Path) -> None:
    (deploy / "base").mkdir()
    (deploy / "base/web.yaml").write_text(BUDGET)
    (deploy / "a.yaml").symlink_to("base/web.yaml")
    assert fix(deploy).code == 0
    assert (deploy / "a.yaml").is_symlink()
    assert (deploy / "base/web.yaml").read_text() == REPAIRED


def test_a_full_disk_loses_no_baseline(deploy: Path) -> None:
    (deploy / "web.yaml").write_text(BUDGET)
    words = ("lint", "deploy", "--select", "KS306", "--baseline", "base.jsonl", "--update-baseline")
    assert run(*words, folder=deploy.parent).code == 0
    baseline = deploy.parent / "base.jsonl"
    before = baseline.read_text()
    (deploy / "db.yaml").write_text(BUDGET.replace("web", "db"))
    with limited(len(before)):
        assert run(*words, folder=deploy.parent).code == 2
    assert baseline.read_text() == before
