"""The forms of output of lint against their published schemas, on runs with findings and without."""

import json
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

import kschedctl
from kschedctl.cli.invocation import Invocation
from kschedctl.cli.streams import ColorWhen, open_console
from kschedctl.linter.lint_files import read_text
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, LintResult, lint_files
from kschedctl.linter.selection import selected_rules
from kschedctl.linter.settings import Settings, SettingsIgnore
from kschedctl.output.forms import FormKind, Medium, names, parse_form
from kschedctl.questions.lint.analysis import report
from kschedctl.questions.lint.document import LintView
from tests.answer_schema import validate

SCHEMAS = Path(__file__).parent / "schemas"
ROOT = Path(__file__).parents[3]
#: As GitLab documents it (docs.gitlab.com/ci/testing/code_quality, "Code Quality report format").
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "not": {"pattern": r"^(\./|/)"}},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
CLEAN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: clean}\n"
UNCLEAN = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: "a, b: 100% <&\\x01>"
  annotations:
    ignore.kschedctl.io/KS119: only that node has the device
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeName: node-1
      hostNetwork: true
      nodeSelector: {beta.kubernetes.io/os: linux, pool: "a\\x1b[2Jb"}
      tolerations: [{operator: Exists}, {operator: Exists}]
      containers:
      - {name: web, image: nginx, ports: [{containerPort: 80}], resources: {requests: {memory: 128m}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: "a, b: 100% <&\\x01>"}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: "a, b: 100% <&\\x01>"}
  minReplicas: 2
  maxReplicas: 4
---
a: [
"""
TEXTS = {
    "clean": {"clean.yaml": CLEAN},
    "unclean": {"./dir with space/ü%.yaml": UNCLEAN, "clean.yaml": CLEAN},
    "no objects": {"nothing.yaml": "a: 1\n"},
    "nothing": {},
}


def linted(texts: Mapping[str, str], **options: Any) -> LintResult:
    files = [read_text(text.encode(), name) for name, text in texts.items()]
    return lint_files(files, LintRequest(rules=selected_rules(["ALL"]), **options))


MEDIUM = Medium(lambda: open_console(ColorWhen.NEVER), Invocation(command="", values={}, arguments={}).command_line)


def rendered(name: str, texts: Mapping[str, str], **options: Any) -> str:
    found = linted(texts, **options)
    view = LintView(linted=found, failed=bool(found.found))
    return "".join(map(str, parse_form(name, FormKind.FINDINGS).render(report(found), view, MEDIUM)))


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", names(FormKind.FINDINGS))
def test_every_form_shows_every_run_without_characters_that_nobody_sees(name: str, texts: Mapping[str, str]) -> None:
    text = rendered(name, texts)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert text.endswith("\n") or not text


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_json_is_as_its_schema_says(texts: Mapping[str, str]) -> None:
    validate(json.loads(rendered("json", texts)))
    lines = rendered("jsonl", texts).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(rendered("json", texts))["findings"]


@pytest.mark.parametrize(
    ("version", "semantic"), [("0.2.0", "0.2.0"), ("0.2.0rc1", None), ("0.2.1.dev3+g1a2b3c4", None)]
)
def test_sarif_has_a_semantic_version_if_it_is_one(
    version: str, semantic: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kschedctl, "__version__", version, raising=False)
    driver = json.loads(rendered("sarif", {"web.yaml": CLEAN}))["runs"][0]["tool"]["driver"]
    assert (driver["version"], driver.get("semanticVersion")) == (version, semantic)


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_sarif_is_as_its_schema_says(texts: Mapping[str, str]) -> None:
    log = json.loads(rendered("sarif", texts))
    jsonschema.validate(log, json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()))
    [run] = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) == len(RULES)
    assert isinstance(run["results"], list)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        [location] = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)
        assert not uri.startswith(("/", "./", "file:"))
        assert min(location["physicalLocation"]["region"].values()) >= 1
        assert result["partialFingerprints"]
    texts_of = [rule[key][part] for rule in rules for key, part in (("help", "text"), ("help", "markdown"))]
    assert all(texts_of)
    # The project has no page on the web, so that a link would lead nowhere: the rule's page is in its help.
    assert "informationUri" not in run["tool"]["driver"]
    assert not any("helpUri" in rule for rule in rules)


def test_sarif_has_what_is_ignored_with_its_reason() -> None:
    log = json.loads(rendered("sarif", TEXTS["unclean"]))
    [ignored] = [each for each in log["runs"][0]["results"] if "suppressions" in each]
    assert ignored["ruleId"] == "KS119"
    assert ignored["suppressions"][0]["justification"] == "only that node has the device"


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_junit_is_as_its_schema_says(texts: Mapping[str, str]) -> None:
    from lxml import etree

    root = etree.fromstring(rendered("junit", texts).encode())
    etree.XMLSchema(etree.parse(SCHEMAS / "junit-10.xsd")).assertValid(root)
    assert all(case.get("time") is not None for case in root.iter("testcase", "testsuite"))
    for suite in root.iter("testsuite"):
        assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
        assert int(suite.get("failures", "")) == len([case for case in suite if case.find("failure") is not None])


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_gitlab_is_as_gitlab_documents_it(texts: Mapping[str, str]) -> None:
    entries = json.loads(rendered("gitlab", texts))
    jsonschema.validate(entries, GITLAB)
    fingerprints = [entry["fingerprint"] for entry in entries]
    assert len(set(fingerprints)) == len(fingerprints)


def test_github_escapes_what_would_end_a_property() -> None:
    lines = rendered("github", TEXTS["unclean"]).splitlines()
    *annotations, count = lines
    pattern = re.compile(r"::(error|warning|notice) (?:[A-Za-z]+=[^,:]*,?)+::[^\r\n]*")
    assert all(pattern.fullmatch(line) for line in annotations)
    assert any("%25" in line and "%0A" in line for line in annotations)
    severities = [pattern.fullmatch(line)[1] for line in annotations]  # type: ignore[index]
    assert severities == sorted(severities, key=["error", "warning", "notice"].index)
    assert re.match(r"\d+ errors?, ", count)


def test_fingerprints_stay_while_lines_move() -> None:
    before = linted({"web.yaml": UNCLEAN})
    after = linted({"web.yaml": f"# moved\n\n{UNCLEAN}"})
    same = [(one.fingerprint, other.fingerprint) for one, other in zip(before.found, after.found, strict=True)]
    assert all(one == other for one, other in same)


def test_people_see_only_how_many_patches_there_are() -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n"
    text = rendered("human", {"patch.yaml": patch})
    assert "KS908" not in text
    assert "skipped by most rules: 1 partial object" in text
    assert [each["rule"] for each in json.loads(rendered("json", {"patch.yaml": patch}))["findings"]] == ["KS908"]


@pytest.mark.parametrize("form", ["sarif", "gitlab", "github", "junit", "concise"])
def test_no_form_but_json_lists_what_people_see_only_as_a_number(form: str) -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n"
    live = "apiVersion: v1\nkind: Service\nmetadata: {name: web, uid: 4f5a}\n"
    text = rendered(form, {"patch.yaml": patch, "live.yaml": live})
    reported = json.loads(text)["runs"][0]["results"] if form == "sarif" else text
    assert "KS908" not in str(reported)
    assert "KS909" not in str(reported)


def test_ignores_of_the_settings_have_an_end() -> None:
    text = UNCLEAN.replace("ignore.kschedctl.io/KS119: only that node has the device", "a: b")
    ignore = SettingsIgnore(rules=("KS119",), kinds=("Deploy*",), reason="known", until=date(2027, 1, 31))
    settings = Settings(ignores=(ignore,))
    then = linted({"web.yaml": text}, settings=settings, today=date(2027, 1, 31))
    later = linted({"web.yaml": text}, settings=settings, today=date(2027, 2, 1))
    assert "KS119" not in {each.rule.code for each in then.found}
    assert {"KS119", "KS910"} <= {each.rule.code for each in later.found}
    other = msgspec.structs.replace(ignore, kinds=("StatefulSet",))
    unmet = linted({"web.yaml": text}, settings=Settings(ignores=(other,)), today=date(2027, 1, 1))
    assert {"KS119", "KS910"} <= {each.rule.code for each in unmet.found}
