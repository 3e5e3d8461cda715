"""A file is an unfilled template, so it is not YAML.

The file contains ``{{`` or ``{%``, or is in a chart; or Terraform or envsubst completes it, that is, it has a directive
such as ``%{ for``, or an unquoted ``${`` on the line that is not YAML. The rule reports once per chart, with its
subcharts; it ignores templates in folders named testdata. Documents of the file that are valid YAML are checked; rules
ignore their fields with placeholders.

Nothing is blocked: the rendered manifests may be correct.

Repair: lint the result, ``kschedctl lint --render CHART`` or ``helm template CHART | kschedctl lint -``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Position
from kschedctl.common.wording import counted
from kschedctl.linter.context import LintContext
from kschedctl.linter.lint_files import LintFile
from kschedctl.linter.rule import Problem
from kschedctl.linter.unreadable_files import Unreadable
from kschedctl.sources.snapshot.content_sniffing import unrendered

FAILS = """apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}  # <-
spec:
  containers: []
"""
PASSES = FAILS.replace("{{ .Release.Name }}", '"{{ .Release.Name }}"')


_MARKS: Final = ("{{", "{%", "${", "%{")


def check(file: LintFile, context: LintContext) -> Iterator[Problem]:
    unreadable = context.manifests.unreadable
    if unreadable.of.get(file.name) is not Unreadable.TEMPLATE:
        return
    chart = unreadable.chart_of(file)
    templates = (other for other in context.manifests.files if unreadable.of.get(other.name) is Unreadable.TEMPLATE)
    of_chart = [other for other in templates if unreadable.chart_of(other) == chart] if chart else [file]
    if of_chart[0] is not file:
        return
    told = unrendered(file.text, file.name)
    position = (told.position if told is not None else None) or _first_braces(file)
    what = f"chart {chart} is not rendered" if chart else "is a template that is not rendered"
    many = f" ({counted(len(of_chart), 'file')} could not be read)" if chart else ""
    command = f"{'--render, or ' if chart and not context.is_rendered else ''}helm template {chart or 'CHART'}"
    if unreadable.is_incomplete(file):
        command = "fill in the placeholders, as with envsubst < FILE"
    yield Problem(
        message=f"{what}{many}",
        help=f"lint the result: {command} | kschedctl lint -",
        line=position.line,
        column=position.column,
    )


def _first_braces(file: LintFile) -> Position:
    """Return the position of the first placeholder, or of the document that could not be read."""
    broken = next(document for document in file.documents if document.broken is not None)
    for number, line in enumerate(file.lines[broken.before :], broken.before + 1):
        if found := [at for mark in _MARKS if (at := line.find(mark)) >= 0]:
            return Position(number, min(found) + 1)
    return Position(broken.before + 1, 1)
