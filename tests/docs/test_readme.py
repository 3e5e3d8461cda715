"""README is true: its example, its tables, its picture and its commands. Rewritten by: make golden"""

import re
import tomllib
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import typer
from msgspec.structs import replace

from kschedctl.cli.commands import COMMANDS
from kschedctl.cli.main import app
from kschedctl.cli.streams import ExitCode
from kschedctl.objects.kinds import KINDS, kind_by_name
from kschedctl.trials.completeness import TABLE, concerns, parts_for_pod
from kschedctl.trials.whatif.edits import EDITS
from tests.builders import make_cluster, make_node, make_pod
from tests.paths import ROOT
from tools import picture

README = ROOT / "README.md"
EXTRA = re.compile(r"""install_command\(["'](\w+)["']\)""")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def test_ci_installs_and_tests_as_readme_says() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    first, second = re.search(r"^```bash\n(.*)\n(.*)\n^```$", README.read_text(), re.MULTILINE).groups()  # type: ignore[union-attr]
    (installed,) = re.findall(r"pip install (\S+) &&", first)
    assert f"\n  pip install --quiet {installed}\n" in ci
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
    assert {*extras} == {*named, "all", "dev", "docs"}
    assert {*extras["all"]} == {f"kschedctl[{','.join(sorted(named))}]"}
    install = README.read_text().partition("## Install")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in install.splitlines() if line.startswith("| ")]
    written = {row[0].strip("`"): set(row[2].lower().split(", ")) for row in rows[1:]}
    assert written == {"(base)": packages(project["dependencies"])} | {name: packages(extras[name]) for name in named}


@pytest.mark.parametrize(
    "name",
    [
        *("README.md", "docs/tour.md", "docs/promises.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"),
        *("docs/dependencies.md", "changes/README.md"),
        *("conformance/README.md", "fixtures/conformance/README.md", "tests/conformance/README.md"),
    ],
)
def test_links_lead_somewhere(name: str) -> None:
    dead = [
        link for link in LINK.findall((ROOT / name).read_text()) if not (ROOT / name).parent.joinpath(link).exists()
    ]
    assert not dead


def commands() -> str:
    """Return the table of commands, with the first sentence of their help."""
    program: Any = typer.main.get_command(app)
    rows = ["| command | what it does |", "|---|---|"]
    for name in COMMANDS:
        first = re.split(r"(?<=\.)\s", " ".join(program.commands[name].help.split()))[0]
        rows.append(f"| `kschedctl {name}` | {first} |")
    return "\n".join(rows)


def what_ifs() -> str:
    """Return the table of what-ifs, with their help."""
    rows = ["| option | what if |", "|---|---|"]
    for edit in EDITS:
        state = edit.option.help.removeprefix("Answer as if ").replace("|", "\\|")
        value = edit.option.metavar.replace("|", "\\|")
        rows.append(f"| `{edit.option.flag}` `{value}` | {state} |")
    return "\n".join(rows)


@pytest.mark.parametrize(("name", "made"), [("commands", commands), ("what-ifs", what_ifs)])
def test_readme_lists_what_there_is(name: str, made: Callable[[], str], request: pytest.FixtureRequest) -> None:
    written = README.read_text()
    block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    assert len(block.findall(written)) == 1
    text = block.sub(lambda found: f"{found[1]}{made()}\n{found[2]}", written)
    if request.config.getoption("--rewrite-golden"):
        README.write_text(text)
    else:
        assert written == text, "make golden rewrites the tables"


def exit_codes() -> str:
    return README.read_text().partition("## Exit codes\n")[2].partition("\n## ")[0]


def test_every_command_says_when_its_exit_code_is_0_and_1() -> None:
    rows = [line for line in exit_codes().splitlines() if line.startswith("| `")]
    assert [re.findall(r"`([a-z]+)[^`]*`", row.split("|")[1])[0] for row in rows] == list(COMMANDS)


def test_every_exit_code_is_told() -> None:
    assert "| command | 0 | 1 |" in exit_codes()
    assert [0, 1, *map(int, re.findall(r"^\| ([0-9]+) \|", exit_codes(), re.MULTILINE))] == list(ExitCode)


def test_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 340


def test_the_picture_shows_what_the_command_prints(request: pytest.FixtureRequest) -> None:
    made = picture.picture()
    if request.config.getoption("--rewrite-golden"):
        if picture.lines(picture.PATH.read_text()) != picture.lines(made):
            picture.PATH.write_text(made)
    else:
        assert picture.lines(picture.PATH.read_text()) == picture.lines(made), "make golden draws it anew"


def test_the_picture_is_complete_and_fetches_nothing() -> None:
    svg = picture.PATH.read_text()
    shown = "\n".join(picture.lines(svg))
    assert shown.startswith(f"$ {picture.COMMAND}\n")
    # Other programs than browsers draw it from what stands in it alone.
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "url(http" not in svg
    assert "0/15 nodes are available: 1 node(s) were unschedulable, 6 node(s) had untolerated taint(s), 8 Ins" in shown
    assert f"![{picture.COMMAND.partition(' --')[0]}" in README.read_text()


#: The kinds that not every cluster serves: kubectl would refuse the whole command.
NOT_EVERYWHERE = {"LeaseCandidate", "VolumeAttributesClass", "DeviceTaintRule", "CompositePodGroup"}
DEVICES = {kind for group, kind in KINDS if group == "resource.k8s.io"}
GROUPS = {"PodGroup", "Workload"}
#: A new pod that uses everything, in a cluster whose pods select namespaces by label.
TERM = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}
POD = make_pod(
    labels={"app": "web"},
    owner=("ReplicaSet", "web", "1"),
    volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
    affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
    runtimeClassName="gvisor",
    schedulingGroup={"podGroupName": "web"},
)

#: Before admission, which reads the priority classes.
NEW = replace(POD, spec=replace(POD.spec, priority=None))


def kinds_by_command(name: str) -> list[set[str]]:
    """Return the kinds of each ``kubectl get`` command that writes a snapshot."""
    found = re.findall(r"^kubectl get (\S+) -A -o json > ", (ROOT / name).read_text(), re.MULTILINE)
    kinds = [[kind_by_name(word) for word in words.split(",")] for words in found]
    assert all(kind is not None for command in kinds for kind in command)
    return [{kind.__name__ for kind in command if kind is not None} for command in kinds]


def needed() -> set[str]:
    """Return the kinds that the answer for the pod depends on, whatever its owner is."""
    cluster = make_cluster([make_node()], [])
    parts = parts_for_pod(is_new=True, preempts=True, is_scored=True)
    found = {kind for kind, own in TABLE.items() if not own.keys().isdisjoint(parts) and concerns(kind, cluster, NEW)}
    return found | {"ReplicaSet", "StatefulSet", "ReplicationController"}


@pytest.mark.parametrize("name", ["README.md", "docs/tour.md"])
def test_the_command_names_every_kind_that_an_answer_depends_on(name: str) -> None:
    first = kinds_by_command(name)[0]
    assert needed() - DEVICES - GROUPS - NOT_EVERYWHERE - first == set()
    # What else the program reads: workloads, for drains, rollouts and causes, and the Leases of leaders.
    assert {kind for _, kind in KINDS} - DEVICES - GROUPS - NOT_EVERYWHERE - first == set()
    assert not first & NOT_EVERYWHERE, "kubectl refuses the whole command if the server lacks one kind"


def test_the_tour_has_commands_for_devices_and_groups() -> None:
    first, devices, groups = kinds_by_command("docs/tour.md")
    assert first == kinds_by_command("README.md")[0]
    assert devices == DEVICES - NOT_EVERYWHERE
    assert needed() & DEVICES >= devices
    assert groups == GROUPS
    assert "PodGroup" in needed()
