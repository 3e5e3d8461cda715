"""The object is not one of its own: a patch, or a piece that something else completes.

A workload of apps/v1 without a selector or labels, one without containers or with a container without an image, an
object without a name, a claim without access modes, a budget of one field, one with a directive of a patch, and all of
a file that a kustomization lists as a patch. No rule looks at it but KS901 to KS905: what it lacks stands elsewhere. To
have it looked at, lint what comes of it: ``kustomize build DIR | kschedctl lint -``.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.given import GivenObject
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: apps/v1  # <-
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
"""
PASSES = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx
"""


def check(obj: GivenObject, context: Context) -> Iterator[Problem]:
    """Objects that are none of their own."""
    if obj.partial:
        yield Problem(
            message=f"taken for a patch, as {obj.partial}: most rules pass it over",
            help="lint what comes of it: kustomize build DIR | kschedctl lint -",
        )
