"""The table of feature gates: a release's column, as its kube-scheduler lists the gates.

A gate that is new to the table affects no decision if no source of kube-scheduler's decisions names it. The others are
marked undecided, and printed with the files that name them.
"""

import argparse
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from conformance.builds import build, versions

TABLE: Final = Path(__file__).parents[1] / "kschedctl" / "objects" / "releases" / "feature_gates.txt"
#: The mark of a gate whose effect on scheduling decisions is still to be assessed; the tests reject it.
UNDECIDED: Final = "?"
_ABSENT: Final = "."
_DECIDES_NOTHING: Final = "-"
_NAME, _DECIDES = "gate", "decides"
#: The folders with the sources of kube-scheduler's decisions, by module of Kubernetes.
_SOURCES: Final[Mapping[str, Sequence[str]]] = {
    "kubernetes": ("pkg/scheduler", "pkg/api/v1", "pkg/apis/core/v1/helper", "pkg/volume/csimigration"),
    "component-helpers": ("",),
    "csi-translation-lib": ("",),
    "dynamic-resource-allocation": ("",),
    "kube-scheduler": ("",),
}
#: The maximum number of files that are printed for a gate.
_SHOWN: Final = 4
_WORD: Final = re.compile(r"\b[A-Z][A-Za-z0-9]+")


def with_column(table: str, release: str, gates: Mapping[str, str], named: Mapping[str, Sequence[str]]) -> str:
    """Return the table with a release's column, releases in order; a new gate is marked undecided if it is named.

    Parameters
    ----------
    table : str
        The table before the change.
    release : str
        The release, such as ``1.38``.
    gates : mapping of str to str
        ``on`` or ``off`` by gate, with ``!`` if it is locked.
    named : mapping of str to sequence of str
        The files that name a gate, among the sources of kube-scheduler's decisions.
    """
    rows = _rows(table)
    heads = list(next(iter(rows.values())))
    for name in gates:
        rows.setdefault(name, {_NAME: name, _DECIDES: UNDECIDED if named.get(name) else _DECIDES_NOTHING})
    for name, row in rows.items():
        row[release] = gates.get(name, _ABSENT)
    order = [_NAME, _DECIDES, *_in_order({*heads, release} - {_NAME, _DECIDES})]
    cells = [order, *([rows[name].get(head, _ABSENT) for head in order] for name in sorted(rows))]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in cells)


def changed_defaults(table: str, release: str) -> list[str]:
    """Return the gates that affect decisions and whose default differs from that of the release before, in words."""
    rows = _rows(table)
    releases = _in_order({*next(iter(rows.values()))} - {_NAME, _DECIDES})
    before = releases[releases.index(release) - 1]
    return [
        f"{name} ({row[before]} in {before}, {row[release]} in {release})"
        for name, row in rows.items()
        if row[_DECIDES] == "yes" and row[before] != row[release]
    ]


def _rows(table: str) -> dict[str, dict[str, str]]:
    heads, *lines = (line.split() for line in table.splitlines())
    return {row[0]: dict(zip(heads, row, strict=True)) for row in lines}


def _in_order(releases: set[str]) -> list[str]:
    return sorted(releases, key=lambda version: [*map(int, version.split("."))])


def _named(version: str, module_folder: Path) -> dict[str, list[str]]:
    """Return the words with a capital letter in the sources of kube-scheduler's decisions, each with its files.

    Parameters
    ----------
    version : str
        The version of Kubernetes.
    module_folder : Path
        The folder of the release's reference scheduler, whose go.mod names the Go that the release needs.
    """
    found: dict[str, list[str]] = {}
    for module, path, text in _sources(version, module_folder):
        for word in set(_WORD.findall(text)):
            found.setdefault(word, []).append(f"{module}/{path}")
    return found


def _sources(version: str, module_folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield the files of ``_SOURCES`` without tests: module, path and text."""
    for module, folders in _SOURCES.items():
        number = version if module == "kubernetes" else f"0.{version.partition('.')[2]}"
        command = ["go", "mod", "download", "-json", f"k8s.io/{module}@v{number}"]
        environment = os.environ | {"GOTOOLCHAIN": "auto", "GOWORK": "off"}
        ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=module_folder, env=environment)
        root = Path(json.loads(ran.stdout)["Dir"])
        for path in (path for folder in folders for path in sorted((root / folder).rglob("*.go"))):
            if not path.name.endswith("_test.go") and "testing" not in path.parts:
                yield module, path.relative_to(root), path.read_text()


def run(args: argparse.Namespace) -> int:
    """Write a release's column; print the gates that must be assessed, and the changed defaults."""
    program = build(args.release)
    listed = subprocess.run([program, "-gates"], capture_output=True, text=True, check=True).stdout
    gates = dict(line.split() for line in listed.splitlines())
    named = _named(versions()[args.release], program.parent)
    made = with_column(TABLE.read_text(), args.release, gates, named)
    TABLE.write_text(made)
    undecided = [name for name, row in _rows(made).items() if row[_DECIDES] == UNDECIDED]
    print(f"{TABLE.name}: {len(gates)} gates of {args.release}; to be judged: {len(undecided)}")
    for name in undecided:
        more = f" and {len(named[name]) - _SHOWN} more" if len(named[name]) > _SHOWN else ""
        print(f"  {name}: {', '.join(named[name][:_SHOWN])}{more}")
    print(f"changed defaults: {', '.join(changed_defaults(made, args.release)) or 'none'}")
    return 0
