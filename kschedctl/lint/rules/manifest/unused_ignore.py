"""An ignore leaves nothing out: what it was for is gone, it stands in the wrong place, or its last day is over.

Annotations count on the object itself and on its template, comments on their line and the one below. Of rules that are
not asked in this run nothing is said.

Nothing stops; but what is meant to be ignored may be found, or something new be missed.

Repair: remove it, or move it to where the finding is.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.ignoring import Ignore
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    ignore.kschedctl.io/KS119: only node-1 has the device  # <-
spec:
  containers:
  - name: web
    image: nginx
"""
PASSES = FAILS.replace("spec:", "spec:\n  nodeName: node-1")


def check(ignore: Ignore, context: Context) -> Iterator[Problem]:
    """Ignores that left nothing out."""
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
