"""The object is not complete: it is a patch, or a fragment that another tool completes.

An object is partial if it is a workload of apps/v1 without a selector or labels, a workload without containers or with
a container without an image, an object without a name, a claim without access modes, a budget with a single field, an
object with a patch directive, or in a file that a kustomization lists as a patch. Only KS901 to KS905 check it, as the
missing fields are at another place. To check the complete object, lint the output of kustomize: ``kustomize build DIR |
kschedctl lint -``.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem

FAILS = """apiVersion: apps/v1  # <-
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
"""
PASSES = """apps/v1 Deployment web
replicas: 3
"""


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    if obj.partial:
        yield Problem(
            message=f"treated as a patch, as {obj.partial}: most rules ignore it",
            help="lint the result: kustomize build DIR | kschedctl lint -",
        )
