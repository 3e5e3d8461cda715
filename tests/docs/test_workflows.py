"""The workflows in ``.github`` do what ``make`` does here, with the rights and the versions that they should have."""

import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

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
