"""A document, or an item of a list, is meant as an object but has no kind or apiVersion, or a list has no items.

The key is missing, misspelt (``Kind``, ``apiversion``, ``item``), empty, or its value is not text, or not a list. A
document is meant as an object if it has ``metadata`` or ``spec``, and both keys in any spelling, or one of them as
Kubernetes has it. Items of a list such as PodList need neither key. Left out are values files of charts, unfilled
templates and the patches of kustomizations. Other rules do not check the object.

The API server never receives the object: kubectl apply and other tools stop there.

Repair: as the message says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from kschedctl.linter.context import LintContext
from kschedctl.linter.document_objects import Flaw, found_in
from kschedctl.linter.lint_files import LintFile
from kschedctl.linter.rule import Problem
from kschedctl.linter.unreadable_files import TEMPLATES

FAILS = """apiVersion: v1
Kind: Pod  # <-
metadata:
  name: web
spec:
  containers:
  - name: web
    image: nginx
"""
PASSES = FAILS.replace("Kind", "kind")


def check(file: LintFile, context: LintContext) -> Iterator[Problem]:
    if file.name in context.manifests.kustomizations.patches or _is_chart_input(file, context):
        return
    for document in file.documents:
        for flaw in found_in(document.value):
            if isinstance(flaw, Flaw):
                region = document.region(flaw.steps, key=flaw.key)
                yield Problem(message=flaw.problem, help=flaw.hint, line=region.line, column=region.column)


def _is_chart_input(file: LintFile, context: LintContext) -> bool:
    """Report whether a file is in a chart but not one of its templates: values have keys of any names."""
    return bool(context.manifests.unreadable.chart_of(file)) and TEMPLATES not in PurePath(file.folder).parts
