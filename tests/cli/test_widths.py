"""The answers about the fixtures on terminals of any width: no word is missing or broken."""

import re
from collections import Counter

import pytest

from tests.cli.in_process import run
from tests.cli.transcript import DEVICES, SHOP, VOLUMES

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
