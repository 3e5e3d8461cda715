"""The promises are kept by tests that exist, and the list of fields in a snapshot equals the program's."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import pytest

from kschedctl.sources.live import limits
from kschedctl.sources.snapshot import archives
from kschedctl.sources.snapshot.archives import size_text
from kschedctl.sources.snapshot.capture import READ_ANNOTATIONS, READ_CONDITIONS, READ_MESSAGES, kept_fields
from tests.cli.in_process import run
from tests.paths import ROOT

PAGE = ROOT / "docs" / "promises.md"
BLOCK = re.compile(r"(<!-- kept -->\n).*?(<!-- /kept -->)", re.DOTALL)
ROW = re.compile(r"^\| (?!promised|---)(.+?) \| (.+?) \|$", re.MULTILINE)
NAME = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`")
#: The prefix of fields in the pod template of a kind.
TEMPLATE = re.compile(r"^(.*template)\.(?=metadata\.|spec\.)")

KEPT = "## Contents of a snapshot"
TABLES = PAGE.read_text().partition(KEPT)[0]
PROMISES = ROW.findall(TABLES)


def folded(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths with common beginnings factored out: ``a.{b, c}``; a map is also listed itself, for its keys."""
    below: dict[str, list[str]] = defaultdict(list)
    whole = set()
    for path in paths:
        first, _, rest = path.partition(".")
        below[first] += [rest] if rest else []
        if not rest:
            whole.add(first)
    for first, rests in below.items():
        inner = list(folded(rests))
        if first in whole:
            yield first
        if inner:
            yield f"{first}.{inner[0]}" if len(inner) == 1 else f"{first}.{{{', '.join(inner)}}}"


def unfolded(text: str, before: str = "") -> set[str]:
    """Return the paths in a text with the paths from ``folded``, joined by commas."""
    found: set[str] = set()
    depth, word = 0, ""
    for character in f"{text},":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and not depth:
            name, brace, inner = word.strip().partition("{")
            found |= unfolded(inner.removesuffix("}"), before + name) if brace else {before + name}
            word = ""
        else:
            word += character
    return found


def by_kind() -> dict[str, list[str]]:
    fields: dict[str, list[str]] = defaultdict(list)
    for kind, path in kept_fields():
        fields[kind].append(path)
    return fields


def kept() -> str:
    """Return the table of the fields that a snapshot keeps."""
    fields = by_kind()
    metadata = [path for path in fields["Pod"] if path.startswith("metadata.")]
    rows = [f"| all | `{', '.join(folded(metadata))}` |"]
    for kind, paths in fields.items():
        templates = {found[1]: None for path in paths if (found := TEMPLATE.match(path))}
        own = [path for path in paths if path not in metadata and not TEMPLATE.match(path)]
        parts = [f"`{', '.join(folded(own))}`"] if own else []
        parts += [f"`{template}`: `metadata` and `spec` as of a Pod" for template in templates]
        rows.append(f"| {kind} | {'; '.join(parts) or 'no more'} |")
    annotations = ", ".join(f"`{name}`" for name in sorted(READ_ANNOTATIONS))
    conditions = ", ".join(f"`{name}`" for name in sorted(READ_CONDITIONS))
    messages = ", ".join(f"`{name}`" for name in sorted(READ_MESSAGES))
    return "\n".join(
        [
            "| kind | fields |",
            "|---|---|",
            *rows,
            "",
            f"Of the annotations these are kept: {annotations}; of the conditions {conditions}, with the message of "
            f"{messages} alone.",
            "",
        ]
    )


def test_the_page_lists_what_is_kept(request: pytest.FixtureRequest) -> None:
    written = PAGE.read_text()
    made = BLOCK.sub(lambda found: f"{found[1]}{kept()}{found[2]}", written)
    if request.config.getoption("--rewrite-golden"):
        PAGE.write_text(made)
    else:
        assert written == made, "make golden writes the list anew"


def test_nothing_is_lost_between_the_fields_and_the_page() -> None:
    rows = dict(ROW.findall(PAGE.read_text().partition(KEPT)[2]))
    fields = by_kind()
    of_all = unfolded(rows.pop("all").strip("`"))
    of_pods = {path for path in fields["Pod"] if not path.startswith("status.")}
    for kind, paths in fields.items():
        read = set(of_all)
        for part in rows[kind].split("; "):
            name, _, template = part.partition(": ")
            if template:
                read |= {f"{name.strip('`')}.{path}" for path in of_pods}
            elif part != "no more":
                read |= unfolded(part.strip("`"))
        assert read == set(paths), kind


def test_the_help_of_snapshot_names_the_page() -> None:
    assert str(PAGE.relative_to(ROOT)) in " ".join(run("snapshot", "--help").out.split())


@pytest.mark.parametrize(("promise", "holders"), PROMISES, ids=[promise for promise, _ in PROMISES])
def test_every_promise_is_held_by_a_test(promise: str, holders: str) -> None:
    names = NAME.findall(holders)
    assert names
    assert NAME.sub("", holders).strip(", ") == ""
    for file, test in names:
        tree = ast.parse((ROOT / file).read_text())
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{file} has no {test}"


@pytest.mark.parametrize(
    "words",
    [
        f"unpacks at most {size_text(archives.MAX_UNPACKED)}, and nothing to more than {archives.MAX_RATIO} times",
        f"`batch` has at most {size_text(archives.MAX_LINE)}",
        f"has at most {size_text(limits.MAX_ANSWER)}, also unpacked, all of them {size_text(limits.MAX_READING)}",
    ],
)
def test_numbers_are_those_of_the_program(words: str) -> None:
    assert words in TABLES
