"""README, the tour and docs/sweep.md show the current output of the commands. Rewritten by: make golden"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.cli.in_process import run

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TOUR = ROOT / "docs" / "tour.md"
SWEEP = ROOT / "docs" / "sweep.md"
SCHEDULING = ROOT / "docs" / "scheduling.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
EXTRA = re.compile(r"""install_command\(["'](\w+)["']\)""")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
#: The age of the snapshot is that of the checkout.
AGE = re.compile(r"written [^·\n]* ago")


def shown(command: str) -> str:
    """Return the output of a command on a terminal of README's width."""
    name, *arguments = shlex.split(command)
    assert name == "kschedctl", command
    environment = {key: value for key, value in os.environ.items() if key != "KSCHEDCTL_SNAPSHOT"}
    done = run(*arguments, folder=ROOT, environment=environment | {"COLUMNS": "110", "NO_COLOR": "1"})
    assert done.code in (0, 1), done.err
    return stable(done.out + done.err)


def stable(text: str) -> str:
    return AGE.sub("written 3 min ago", "\n".join(line.rstrip() for line in text.splitlines()))


def commands() -> list[tuple[Path, str, str]]:
    """Return the commands of each page with the output shown below them."""
    return [
        (page, command, output.rstrip("\n"))
        for page in (README, TOUR, SWEEP, SCHEDULING)
        for block in BLOCK.findall(page.read_text())
        for command, output in COMMAND.findall(block)
    ]


@pytest.mark.parametrize(("page", "command", "output"), commands(), ids=[command for _, command, _ in commands()])
def test_pages_show_what_commands_print(page: Path, command: str, output: str, request: pytest.FixtureRequest) -> None:
    printed = shown(command)
    if request.config.getoption("--rewrite-golden"):
        text = page.read_text()
        old = "\n".join([f"$ {command}", *([output] if output else []), "```"])
        assert old in text, "a console block holds one command"
        page.write_text(text.replace(old, f"$ {command}\n{printed}\n```"))
    else:
        assert printed == stable(output)


def test_the_tour_has_its_commands() -> None:
    assert len(commands()) >= 10


def test_python_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(README), module_relative=False)
    assert results.attempted >= 5
    assert results.failed == 0


def test_ci_installs_and_tests_as_readme_says() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    first, second = re.search(r"^```bash\n(.*)\n(.*)\n^```$", README.read_text(), re.MULTILINE).groups()  # type: ignore[union-attr]
    (installed,) = re.findall(r"pip install (\S+) &&", first)
    assert f"\npip install --quiet {installed}\n" in ci
    assert "kschedctl explain shop/web-7" in ci
    assert "kschedctl explain shop/web-7" in first
    for step in second.split(" && "):
        assert step.removeprefix("pip install ") in ci


def packages(requirements: list[str]) -> set[str]:
    return {re.split("[<>=~!]", requirement)[0].lower() for requirement in requirements}


def test_every_extra_is_in_readme_and_in_all() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = {name for path in (ROOT / "kschedctl").rglob("*.py") for name in EXTRA.findall(path.read_text())}
    assert {*extras} == {*named, "all", "dev"}
    assert {*extras["all"]} == {f"kschedctl[{','.join(sorted(named))}]"}
    install = README.read_text().partition("## Install")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in install.splitlines() if line.startswith("| ")]
    written = {row[0].strip("`"): set(row[2].lower().split(", ")) for row in rows[1:]}
    assert written == {"(base)": packages(project["dependencies"])} | {name: packages(extras[name]) for name in named}


@pytest.mark.parametrize(
    "name",
    [
        *("README.md", "docs/tour.md", "docs/promises.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"),
        *("conformance/README.md", "fixtures/conformance/README.md", "tests/conformance/README.md"),
    ],
)
def test_links_lead_somewhere(name: str) -> None:
    dead = [
        link for link in LINK.findall((ROOT / name).read_text()) if not (ROOT / name).parent.joinpath(link).exists()
    ]
    assert not dead
