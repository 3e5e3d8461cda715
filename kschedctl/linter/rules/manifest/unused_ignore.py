"""An ignore suppresses no finding, or names an unknown rule: the finding is gone, or the ignore is at the wrong place.

Annotations belong in the metadata of the object or of its pod template. A comment applies to its own line or, on a line
of its own, to the next line with content. An ignore whose last day is past suppresses nothing. The rule reports nothing
for ignores of rules that do not run, and for those in files that cannot be read or are unfilled templates.

Nothing is blocked; but a finding that should be ignored may be reported, or a new one may be suppressed.

Repair: remove it, or move it to the finding.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.ignore import Ignore
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
annotations:
  ignore.kschedctl.io/KS119: only node-1 has the device  # <-
"""
PASSES = FAILS + "nodeName: node-1\n"


def check(ignore: Ignore, context: LintContext) -> Iterator[Problem]:
    if not ignore.unknown and (ignore.used or context.manifests.unreadable.may_have_more(ignore.file)):
        return
    message = "suppresses nothing: its rules have no finding here"
    if ignore.unknown:
        message = f'"{ignore.unknown}" is not a rule'
    elif ignore.ended is not None:
        message = f"its last day was {ignore.ended.isoformat()}"
    yield Problem(message=message, help="remove it, or move it to the finding", line=ignore.line, column=ignore.column)
