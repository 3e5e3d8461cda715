"""The workflows in ``.github`` and lint in CI do what ``make`` does here, with the rights that they should have."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kschedctl.linter.settings import read_settings
from tests.paths import ROOT

GITHUB = ROOT / ".github"
MAKEFILE = (ROOT / "Makefile").read_text()
WORKFLOWS: dict[str, Any] = {path.stem: yaml.safe_load(path.read_text()) for path in GITHUB.glob("workflows/*.yml")}
ACTIONS: dict[str, Any] = {path.parent.name: yaml.safe_load(path.read_text()) for path in GITHUB.glob("actions/*/*")}
JOBS = {(name, job): spec for name, workflow in WORKFLOWS.items() for job, spec in workflow["jobs"].items()}
OWN = {key: job for key, job in JOBS.items() if "steps" in job}


def steps() -> Iterator[dict[str, Any]]:
    for job in OWN.values():
        yield from job["steps"]
    for action in ACTIONS.values():
        yield from action["runs"]["steps"]


COMMANDS = sorted({step["run"] for step in steps() if "run" in step})
USED = sorted({step["uses"] for step in steps() if "uses" in step})


@pytest.mark.parametrize("command", COMMANDS)
def test_steps_run_targets_of_make(command: str) -> None:
    """A few steps need what has no make, or what only GitHub has."""
    words = shlex.split(command.partition(" > ")[0])
    match words:
        case ["make", *arguments]:
            targets = [each for each in arguments if "=" not in each and not each.startswith("-")]
            assert targets
            assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in targets), targets
        case ["python", "-m", "pip", "install", *_]:
            pass
        case ["python", "-m", module, *_]:
            # On Windows and on Alpine; a target runs the same here.
            assert f"\tpython -m {module} " in MAKEFILE
        case _:
            assert words[:3] == ["gh", "release", "create"]


@pytest.mark.parametrize("action", USED)
def test_actions_have_a_version(action: str) -> None:
    if action.startswith("./"):
        assert (ROOT / action / "action.yml").is_file()
    else:
        assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", action)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_have_no_rights_of_their_own(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {}
    assert WORKFLOWS[name]["concurrency"]["group"]


@pytest.mark.parametrize("key", OWN, ids="/".join)
def test_jobs_have_a_time_limit_and_only_a_release_writes(key: tuple[str, str]) -> None:
    job = OWN[key]
    assert job["timeout-minutes"] <= 180
    writing = {name for name, right in job["permissions"].items() if right == "write"}
    assert not writing or key[0] == "release"
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_text_of_others_never_stands_in_a_script() -> None:
    assert [command for command in COMMANDS if "${{" in command] == []


def test_the_release_publishes_only_what_was_checked_and_tried() -> None:
    jobs = WORKFLOWS["release"]["jobs"]

    def before(name: str) -> set[str]:
        needs = jobs[name].get("needs", [])
        direct = {needs} if isinstance(needs, str) else {*needs}
        return direct.union(*map(before, direct))

    writing = {name for name, job in jobs.items() if "write" in job["permissions"].values()}
    assert writing == {"attest", "pypi", "container", "github"}
    for name in writing - {"attest"}:
        assert before(name) >= {"checks", "build", "trial", "trial-musl", "artifacts", "attest"}
    assert jobs["pypi"]["environment"]["name"] == "pypi"


def test_python_is_tested_in_the_versions_that_the_package_names_and_those_between() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [each.rpartition(" ")[2] for each in project["classifiers"] if re.search(r":: 3\.\d+$", each)]
    oldest = project["requires-python"].removeprefix(">=")
    full = ACTIONS["install"]["inputs"]["python"]["default"]
    tested = [full, *JOBS["checks", "pythons"]["strategy"]["matrix"]["python"]]
    assert [version for version in tested if version in named] == named
    assert (tested[0], tested[-1]) == (named[0], named[-1])
    assert full == oldest
    for job in ("trial", "trial-musl"):
        assert JOBS["release", job]["strategy"]["matrix"]["python"] == [named[0], named[-1]]


def test_nightly_runs_the_scripts_of_the_night() -> None:
    runs = [step.get("run", "") for job in WORKFLOWS["nightly"]["jobs"].values() for step in job["steps"]]
    for target in ("fuzz", "fresh-seeds", "live-seeds", "release"):
        assert [run for run in runs if run.split()[:2] == ["make", target]]
    assert {path.name for path in (ROOT / ".ci").iterdir()} == {"run", "fresh-seeds", "live-seeds"}


# Slow where it has to be built first.
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="actionlint is built with Go, which is not installed")
def test_actionlint_finds_nothing() -> None:
    done = subprocess.run(["make", "actionlint"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


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


def recipe(target: str) -> str:
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None
    return found[1]


def is_live(text: str) -> bool:
    steps = [ast.unparse(step) for step in ast.parse(text).body if isinstance(step, ast.Assign)]
    marks = [step for step in steps if step.startswith("pytestmark = ")]
    return "pytest.mark.live" in marks[-1] if marks else False


def test_ci_runs_what_make_check_leaves_out() -> None:
    assert '-m "$(if $(WHOLE),not sample,not slow) and not live and not browser"' in recipe("test")
    assert "$(if $(WHOLE),--hypothesis-profile=full)" in recipe("test")
    assert '-m "(slow or hypothesis) and not live" --hypothesis-profile=full' in recipe("slow")
    assert "-m live tests/live" in recipe("live")
    assert "-m browser tests/browser" in recipe("browser")
    ci = (ROOT / ".ci" / "run").read_text()
    for command in ("make live", "make browser"):
        assert f"{command} || failed=1\n" in ci
    for command in ("nice make check WHOLE=1", 'wait "$installed"', 'wait "$beside"'):
        assert f"\n{command} || failed+=(" in ci
    assert ci.endswith("exit $((${#failed[@]} > 0))\n")


def test_only_tests_of_live_clusters_ask_a_control_plane() -> None:
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)}
    asking = {path for path, text in texts.items() if "ControlPlane" in text}
    marked = {path for path, text in texts.items() if is_live(text)}
    assert marked == asking
    assert {path.parent.name for path in marked} == {"live"}


def test_only_tests_in_a_browser_are_left_out_with_it() -> None:
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)}
    marked = {path for path, text in texts.items() if "pytestmark = pytest.mark.browser\n" in text}
    assert marked == {path for path, text in texts.items() if "browser: Browser" in text}
    assert {path.parent.name for path in marked} == {"browser"}


def test_what_is_left_out_of_the_whole_run_is_a_part_of_a_slow_test() -> None:
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)}
    samples = {path for path, text in texts.items() if "pytest.mark.sample" in text}
    assert samples
    assert samples == {path for path in samples if texts[path].count("mark.sample") <= texts[path].count("mark.slow")}


def test_recorded_answers_are_left_out_of_make_check() -> None:
    text = (ROOT / "tests" / "conformance" / "test_recordings.py").read_text()
    assert text.count("@pytest.mark.slow") == 1
