"""A mapping contains a key twice, and which of the values applies depends on the reader.

``kubectl`` requests strict validation, so the object is refused. Helm and older clients use the last value, others the
first.

The API server refuses the object if strict validation is requested; otherwise the object has one of the two values.

Repair: remove one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem

FAILS = """apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  hostNetwork: true
  containers:
  - name: web
    image: nginx
  hostNetwork: false  # <-
"""
PASSES = FAILS.replace("  hostNetwork: true\n", "")


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    for repeated in obj.document.repeated:
        if repeated.steps[: len(obj.inside)] != obj.inside:
            continue
        steps = repeated.steps[len(obj.inside) :]
        position = repeated.position
        yield Problem(
            message=f"the key {steps[-1]} occurs twice",
            steps=steps,
            help="remove one of them: the last one is used, or the object is refused",
            key=True,
            line=None if position is None else obj.document.before + position.line,
            column=None if position is None else position.column,
        )
