"""An ignore has no reason.

Without a reason a later reader cannot know if the ignore is still needed. The rule runs only if it is selected.

Nothing is blocked.

Repair: add the reason, as the annotation's value or after the rule in a comment.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.ignore import Ignore
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
annotations:
  ignore.kschedctl.io/KS119: ""  # <-
nodeName: node-1
"""
PASSES = FAILS.replace('""', "only node-1 has the device")


def check(ignore: Ignore, context: LintContext) -> Iterator[Problem]:
    if not ignore.reason:
        yield Problem(message="the ignore has no reason", help="add the reason", line=ignore.line, column=ignore.column)
