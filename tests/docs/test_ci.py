"""Lint in CI: the pre-commit hooks, the GitHub Action and the GitLab example, as far as they can run here."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kschedctl.linter.settings import read_settings
from tests.paths import ROOT

HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
CI = (ROOT / "docs" / "ci.md").read_text()
POD = """apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: node-1
  containers: [{name: web, image: nginx}]
"""
#: The schema of a pre-commit hook (pre_commit/clientlib.py, MANIFEST_HOOK_DICT), as far as it is used here.
HOOK = {
    "type": "object",
    "required": ["id", "name", "entry", "language"],
    "additionalProperties": False,
    "properties": {
        **{key: {"type": "string", "minLength": 1} for key in ("id", "name", "entry", "description")},
        "language": {"enum": ["python"]},
        **{key: {"type": "array", "items": {"type": "string"}} for key in ("types", "types_or", "args")},
        "pass_filenames": {"type": "boolean"},
    },
}


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "web.yaml").write_text(POD)
    (tmp_path / "values.yaml").write_text("a: 1\n")
    return tmp_path


def run(words: list[str], room: Path, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        words, cwd=room, capture_output=True, text=True, check=False, env={"PATH": path, "HOME": str(room), **env}
    )


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_hooks_are_as_pre_commit_wants_them(hook: dict[str, Any]) -> None:
    jsonschema.validate(hook, HOOK)


def test_the_hook_looks_at_the_whole_set(room: Path) -> None:
    hook = HOOKS["kschedctl-lint"]
    done = run([*shlex.split(hook["entry"]), *hook["args"]], room)
    assert done.returncode == 1
    assert "deploy/web.yaml:5:13 KS119" in done.stdout


def test_the_hook_of_files_takes_those_that_hold_no_object(room: Path) -> None:
    entry = shlex.split(HOOKS["kschedctl-lint-files"]["entry"])
    assert run([*entry, "values.yaml"], room).returncode == 0
    done = run([*entry, "values.yaml", "deploy/web.yaml"], room)
    assert (done.returncode, done.stdout.splitlines()[0].split(" ")[2]) == (1, "KS119")


def test_the_action_runs(room: Path) -> None:
    *_, step = ACTION["runs"]["steps"]
    wanted = {name: re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value)[1] for name, value in step["env"].items()}  # type: ignore[index]
    assert set(wanted.values()) <= set(ACTION["inputs"])
    given = {"PATHS": "deploy", "ARGS": "--fail-on error --ignore KS1*", "SNAPSHOT": "", "SARIF_FILE": "a b.sarif"}
    assert run(["bash", "-eo", "pipefail", "-c", step["run"]], room, **given).returncode == 2
    given["ARGS"] = "--fail-on error"
    done = run(["bash", "-eo", "pipefail", "-c", step["run"]], room, **given)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("::warning file=deploy/web.yaml,line=5,")
    assert json.loads((room / "a b.sarif").read_text())["runs"][0]["results"]


def test_the_action_is_composite_and_pins_what_it_uses() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for step in ACTION["runs"]["steps"]:
        assert step.get("shell") == "bash" or re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])
        # What users give never stands in a script itself.
        assert "${{" not in step.get("run", "")


def block(name: str) -> str:
    found: list[str] = re.findall(rf"<!-- {name} -->\n```yaml\n(.*?)```", CI, re.DOTALL)
    return found[0]


def test_the_example_of_gitlab_runs(room: Path) -> None:
    job = yaml.safe_load(block("gitlab"))["lint"]
    command = next(line for line in job["script"] if line.startswith("kschedctl"))
    assert run(shlex.split(command), room).returncode == 1
    reports = job["artifacts"]["reports"]
    assert json.loads((room / reports["codequality"]).read_text())[0]["check_name"].startswith("KS119")
    assert (room / reports["junit"]).read_text().startswith("<?xml")


def test_the_settings_that_are_shown_are_taken(tmp_path: Path) -> None:
    (tmp_path / ".kschedctl.yaml").write_text(block("settings"))
    settings = read_settings(tmp_path / ".kschedctl.yaml")
    assert settings.ignores[0].names == ("grafana*",)
    assert settings.pod_templates[0].steps == ("spec", "template")
