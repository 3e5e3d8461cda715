"""An ignore leaves nothing out: what it was for is gone, it stands in the wrong place, or its last day is over.

Annotations count on the object itself and on its template, comments on their line and the one below. Of rules that are
not asked in this run nothing is said.

Nothing stops; but what is meant to be ignored may be found, or something new be missed.

Repair: remove it, or move it to where the finding is.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.ignore import Ignore
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
annotations:
  ignore.kschedctl.io/KS119: only node-1 has the device  # <-
"""
PASSES = FAILS + "nodeName: node-1\n"


def check(ignore: Ignore, context: Context) -> Iterator[Problem]:
    if ignore.used:
        return
    message = "leaves nothing out: no rule that it names finds anything here"
    if ignore.unknown:
        message = f'"{ignore.unknown}" is no rule'
    elif ignore.ended is not None:
        message = f"its last day was {ignore.ended.isoformat()}"
    yield Problem(
        message=message, help="remove it, or move it to where the finding is", line=ignore.line, column=ignore.column
    )
