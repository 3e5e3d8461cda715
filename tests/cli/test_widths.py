"""Answers on terminals of any width, with short names and with the long ones of managed clusters."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest

from tests.cli.in_process import run
from tests.cli.transcript import DEVICES, SHOP, VOLUMES
from tests.paths import ROOT

_NODE: Final = re.compile(r"\b(node|gpu)-([1-9])\b")
_POD: Final = re.compile(r"\b(api|cart|checkout|web|search|recommend|inference|report)-([1-9])\b")
_VOLUME: Final = re.compile(r"\bpv-[a-z]+-[0-9]\b")

Renamed = Callable[[str, int], str]


def _gke(kind: str, number: int) -> str:
    pool = {"node": "default-pool-1a2b3c4d", "gpu": "gpu-pool-9f8e7d6c"}[kind]
    return f"gke-prod-cluster-{pool}-{_letters(kind, number, 4)}"


def _eks(kind: str, number: int) -> str:
    digest = hashlib.sha256(f"{kind}{number}".encode()).digest()
    return f"ip-10-0-{digest[0]}-{digest[1]}.eu-central-1.compute.internal"


def _aks(kind: str, number: int) -> str:
    pool = {"node": "nodepool1-12345678", "gpu": "gpupool-87654321"}[kind]
    return f"aks-{pool}-vmss{number:06}"


#: The names of nodes by cloud: a function of their kind (``node`` or ``gpu``) and number.
CLOUDS: Final[Mapping[str, Renamed]] = {"gke": _gke, "eks": _eks, "aks": _aks}


def renamed(text: str, cloud: str) -> str:
    """Return a text of the shop's fixtures with the names of a cloud."""
    text = _NODE.sub(lambda found: CLOUDS[cloud](found[1], int(found[2])), text)
    text = _POD.sub(lambda found: f"{found[1]}-7f9c6d5b84-{_letters(found[1], int(found[2]), 5)}", text)
    return _VOLUME.sub(lambda found: f"pvc-{UUID(bytes=hashlib.sha256(found[0].encode()).digest()[:16])}", text)


def renamed_folder(source: Path, to: Path, cloud: str) -> Path:
    """Write a folder of fixtures with the names of a cloud; return the new folder."""
    to.mkdir(parents=True)
    for path in source.iterdir():
        (to / path.name).write_text(renamed(path.read_text(), cloud))
    return to


def _letters(kind: str, number: int, length: int) -> str:
    digest = hashlib.sha256(f"{kind}-{number}".encode()).digest()
    return "".join("bcdfghjklmnpqrstvwxz2456789"[byte % 27] for byte in digest[:length])


COMMANDS = (
    "nodes",
    "nodes gpu-5 -o wide",
    "nodes --by zone -o wide",
    "explain -A",
    "explain -A -o wide",
    "explain shop/web-7 --why --nodes",
    "explain shop/search-3 --node node-9 --why",
    "explain shop/web-7 --node node-8 --why",
    "explain shop/web-7 --prefer node-5 --withstand",
    "preempt -A",
    "preempt -A -o wide",
    "preempt --victim batch/report-6",
    "volumes -A",
    "volumes data/data-postgres-1 -o wide",
    "verify -o wide",
    "diff -A --cordon node-8 -o wide",
    "diff --all-pods -A --drain node-3",
    "snapshot info",
)


def words(text: str) -> Counter[str]:
    """Return the words without separators and colons, whose use depends on the width."""
    return Counter(word.rstrip(":") for word in text.replace("\N{MIDDLE DOT}", " ").split())


@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_is_lost_or_broken(command: str) -> None:
    paths = [str(SHOP)] if "info" in command else ["--snapshot", str(SHOP)]
    whole = words(run(*command.split(), *paths).out)
    assert whole
    for columns in (20, 30, 40, 60, 80):
        text = run(*command.split(), *paths, columns=columns).out
        # What the names of a column have in common is said once, with a star for the rest.
        cut = re.findall(r"^  [a-z', ]+:\s+(\S*)\*(\S*)$", text, re.MULTILINE)
        lost = {word for word in whole - words(text) if not _is_broken(word, text)}
        lost -= {word for word in lost for start, end in cut if _short_forms(word, start, end) & set(text.split())}
        # Headings of tables stand in every row or in none.
        assert not {word for word in lost if words(text)[word] == 0}, columns


def test_volumes_of_the_fixtures() -> None:
    for columns in (20, 30, 40, 60, 80):
        text = run("volumes", "-A", "--snapshot", str(VOLUMES / "conflict"), columns=columns).out
        assert {"shop/figures", "pvc-figures", "eu-central-1b"} <= set(text.split())


def test_devices_of_the_fixtures() -> None:
    for columns in (20, 30, 40, 60, 80):
        text = run("devices", "ml/train", "--snapshot", str(DEVICES / "cluster"), columns=columns).out
        assert {"gpu-large,", "gpus", "ml/sweep", "missing"} <= set(text.split())


def _is_broken(word: str, text: str) -> bool:
    """Report whether a heading, a label or a taint is printed in parts."""
    if re.fullmatch(r"([A-Z][a-z]+)+", word):
        return all(part in text for part in re.findall(r"[A-Z][a-z]+", word))
    return re.search(r"[=:]\w", word) is not None and all(part in text for part in re.split(r"(?<=[/=:])", word))


def _short_forms(word: str, start: str, end: str) -> set[str]:
    """Return the short forms of a name, with the punctuation around it."""
    name = word.strip("(),;[]")
    if not (name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end)):
        return set()
    middle = name[len(start) : len(name) - len(end)]
    return {word.replace(name, short) for short in (middle, f"{'*' * bool(start)}{middle}{'*' * bool(end)}")}


COMMANDS_OF_CLOUDS: Final = (
    "explain -A",
    "explain search-3 -n shop -o wide",
    "pending",
    "preempt -A",
    "preempt search-3 -n shop -o wide",
    "volumes -A",
    "drain node-7 node-8 --ignore-daemonsets",
    "simulate -o wide",
    "verify -o wide",
    "diff -A --cordon node-5 -o wide",
)
#: Lines that are never wrapped, to be copied: commands, and the messages of kube-scheduler.
_COPIED: Final = ("kschedctl ", "kubectl ", "nodes are available: ", "# ")


@pytest.fixture(scope="module", params=CLOUDS)
def cloud(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, renamed_folder(SHOP, tmp_path_factory.mktemp("clouds") / "cluster", request.param)


@pytest.mark.parametrize("columns", [80, pytest.param(100, marks=pytest.mark.slow), 140])
@pytest.mark.parametrize("command", COMMANDS_OF_CLOUDS)
def test_no_line_is_wider_than_the_terminal(cloud: tuple[str, Path], command: str, columns: int) -> None:
    name, snapshot = cloud
    text = run(*renamed(command, name).split(), "--snapshot", str(snapshot), columns=columns).out
    lines = [line for line in text.splitlines() if not any(copied in line for copied in _COPIED)]
    assert len(lines) > 2
    assert not [line for line in lines if len(line) > columns]


@pytest.mark.parametrize("columns", [80, 160])
@pytest.mark.parametrize("plan", ["zones", "tuning"])
def test_a_sweep_is_one_table(plan: str, columns: int) -> None:
    text = run("sweep", str(ROOT / "fixtures" / "shop" / "sweeps" / f"{plan}.yaml"), columns=columns).out
    rows = [line for line in text.splitlines() if line.strip().partition(" ")[0].isdecimal() and line[0] == " "]
    assert len(rows) == {"zones": 9, "tuning": 18}[plan]
    assert max(map(len, rows)) <= columns
