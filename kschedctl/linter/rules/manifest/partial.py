"""The object is not complete: it is a patch, or a fragment that another tool completes.

An object is partial if it is a workload of apps/v1 without a selector or labels, a workload without containers or with
a container without an image, an object without a name, a claim without access modes, a budget with a single field, an
object with a patch directive, or in a file that a kustomization lists as a patch. Only KS901 to KS905 check it, as the
missing fields are at another place. To check the complete object, lint the output of kustomize: ``kschedctl lint
--render DIR`` or ``kustomize build DIR | kschedctl lint -``. Standard input is checked as it is: it is never partial.

If no kustomization is in the folder of the file or above it, and neither the file nor its folder has "patch" in its
name, the field is probably missing by mistake, and the API server refuses the object: the finding is a warning. In all
other cases, it is info.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem, Stage

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
    if context.manifests.is_incomplete(obj):
        yield Problem(
            message=f"{obj.partial.removeprefix('it ')}, and no kustomization is near: most rules ignore it",
            help="complete it; if it is a patch, list it in a kustomization",
            severity=Severity.WARNING,
            # A budget without a selector is accepted, and selects no pod.
            stop=None if obj.kind == "PodDisruptionBudget" else Stage.REFUSED,
        )
    elif obj.partial:
        yield Problem(
            message=f"treated as a patch, as {obj.partial}: most rules ignore it",
            help="lint the result: --render, or kustomize build DIR | kschedctl lint -",
        )
