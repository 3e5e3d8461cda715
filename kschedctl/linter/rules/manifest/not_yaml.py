"""A document is no YAML, or YAML that Kubernetes does not read.

Nothing is known of what it holds. The other documents of the file are looked at all the same. Rules that would need to
know what is in it are silent, for what they miss may be there. Templates that are not filled in are KS902.

The API server never sees it: whatever applies the file stops there.

Repair: as the message says.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.charts import is_template
from kschedctl.linter.context import Context
from kschedctl.linter.reading import LintDocument, LintFile
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
nodeSelector: {pool: web
containers: []  # <-
"""
PASSES = FAILS.replace("{pool: web", "{pool: web}")


def check(file: LintFile, context: Context) -> Iterator[Problem]:
    if is_template(file):
        return
    for document in file.documents:
        if document.broken is not None:
            yield _problem(document)


def _problem(document: LintDocument) -> Problem:
    broken = document.broken
    assert broken is not None
    line, column = document.before + 1, 1
    if broken.position is not None:
        line, column = document.before + broken.position.line, broken.position.column
    # The text may end where something is missing.
    last = document.before + document.text.rstrip().count(b"\n") + 1
    return Problem(message=broken.problem, help=broken.hint, line=min(line, last), column=column)
