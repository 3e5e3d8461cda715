"""A document is not YAML, or is YAML that Kubernetes does not read.

The content of the document is not known. The other documents of the file are checked nevertheless. Rules that report a
missing object report nothing if the object may be in this document. Unfilled templates are reported by KS902; the rule
is not decided for those of Terraform and envsubst. Files without the keys ``apiVersion`` and ``kind``, such as
tsconfig.json, are counted only.

The API server never receives the document: kubectl apply and other tools stop there.

Repair: as the message says.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext, Undecided
from kschedctl.linter.lint_files import LintDocument, LintFile
from kschedctl.linter.rule import Problem
from kschedctl.linter.unreadable_files import Unreadable

FAILS = """v1 Pod web
nodeSelector: {pool: web
containers: []  # <-
"""
PASSES = FAILS.replace("{pool: web", "{pool: web}")


def check(file: LintFile, context: LintContext) -> Iterator[Problem]:
    unreadable = context.manifests.unreadable
    if unreadable.is_incomplete(file):
        context.undecided.append(Undecided("KS901", file.name, "the template is not filled in"))
    if unreadable.of.get(file.name) is not Unreadable.MANIFEST:
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
    # If the text ends too early, the position can be after its last line.
    last = document.before + document.text.rstrip().count(b"\n") + 1
    return Problem(message=broken.problem, help=broken.hint, line=min(line, last), column=column)
