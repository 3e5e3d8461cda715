"""The object is not one of its own: a patch, or a piece that something else completes.

A workload of apps/v1 without a selector or labels, one without containers or with a container without an image, an
object without a name, a claim without access modes, a budget of one field, one with a directive of a patch, and all of
a file that a kustomization lists as a patch. No rule looks at it but KS901 to KS905: what it lacks stands elsewhere. To
have it looked at, lint what comes of it: ``kustomize build DIR | kschedctl lint -``.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.manifest_set import ManifestObject
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


def check(obj: ManifestObject, context: Context) -> Iterator[Problem]:
    if obj.partial:
        yield Problem(
            message=f"taken for a patch, as {obj.partial}: most rules pass it over",
            help="lint what comes of it: kustomize build DIR | kschedctl lint -",
        )
