"""The table of feature gates: a release's column, as its kube-scheduler lists the gates."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from conformance.builds import build

TABLE: Final = Path(__file__).parents[1] / "kschedctl" / "releases" / "feature_gates.txt"
#: The mark of a gate whose effect on scheduling decisions is still to be assessed; the tests reject it.
UNDECIDED: Final = "?"
_ABSENT: Final = "."
_NAME, _DECIDES = "gate", "decides"


def with_column(table: str, release: str, gates: Mapping[str, str]) -> str:
    """Return the table with a release's column, releases in order; a gate that is new to the table is marked undecided.

    Parameters
    ----------
    table : str
        The table before the change.
    release : str
        The release, such as ``1.38``.
    gates : mapping of str to str
        ``on`` or ``off`` by gate, with ``!`` if it is locked.
    """
    heads, *lines = (line.split() for line in table.splitlines())
    rows = {row[0]: dict(zip(heads, row, strict=True)) for row in lines}
    for name in gates:
        rows.setdefault(name, {_NAME: name, _DECIDES: UNDECIDED})
    for name, row in rows.items():
        row[release] = gates.get(name, _ABSENT)
    releases = sorted({*heads, release} - {_NAME, _DECIDES}, key=lambda version: [*map(int, version.split("."))])
    order = [_NAME, _DECIDES, *releases]
    cells = [order, *([rows[name].get(head, _ABSENT) for head in order] for name in sorted(rows))]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in cells)


def run(args: argparse.Namespace) -> int:
    """Write a release's column and print the gates that must be assessed."""
    listed = subprocess.run([build(args.release), "-gates"], capture_output=True, text=True, check=True).stdout
    gates = dict(line.split() for line in listed.splitlines())
    made = with_column(TABLE.read_text(), args.release, gates)
    TABLE.write_text(made)
    undecided = [row[0] for row in map(str.split, made.splitlines()) if row[1] == UNDECIDED]
    print(f"{TABLE.name}: {len(gates)} gates of {args.release}, to be judged: {', '.join(undecided) or 'none'}")
    return 0
