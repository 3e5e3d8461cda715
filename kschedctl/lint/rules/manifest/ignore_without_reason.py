"""An ignore does not say why.

Who reads it later cannot know whether it still holds. Not asked unless it is selected.

Nothing stops.

Repair: add the reason, as the annotation's value or behind the rule in a comment.
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
    ignore.kschedctl.io/KS119: ""  # <-
spec:
  nodeName: node-1
  containers:
  - name: web
    image: nginx
"""
PASSES = FAILS.replace('""', "only node-1 has the device")


def check(ignore: Ignore, context: Context) -> Iterator[Problem]:
    """Ignores without a reason."""
    if not ignore.reason:
        yield Problem(message="ignores without a reason", help="say why", line=ignore.line, column=ignore.column)
