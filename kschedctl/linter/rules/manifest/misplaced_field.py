"""A scheduling field is misspelt, or is at a place where its kind has no such field, so it has no effect.

Examples are ``nodeSelector`` beside ``template`` instead of in the template's spec, tolerations in a container,
``topologySpreadConstraint``, and preferred anti-affinity without ``podAffinityTerm``. The rule checks kinds whose
fields are known, by group and version; it ignores unknown fields that do not resemble a scheduling field.

The API server refuses the object if strict validation is requested, as by kubectl; Helm and older clients drop the
field silently.

Repair: as the message says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.api.schema.strict import unknown_with_steps
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.spelling import nearest
from kschedctl.linter.values import is_rendered

FAILS = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  nodeSelector:  # <-
    pool: web
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
PASSES = FAILS.replace("  nodeSelector:  # <-\n    pool: web\n", "").replace(
    "      containers:", "      nodeSelector:\n        pool: web\n      containers:"
)

_SCHEDULING: Final = frozenset(
    (
        *("nodeSelector", "nodeName", "affinity", "nodeAffinity", "podAffinity", "podAntiAffinity"),
        *("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"),
        *("nodeSelectorTerms", "matchExpressions", "matchFields", "topologyKey", "labelSelector", "namespaceSelector"),
        *("podAffinityTerm", "tolerations", "tolerationSeconds", "topologySpreadConstraints", "maxSkew"),
        *("whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"),
        *("mismatchLabelKeys", "priorityClassName", "preemptionPolicy", "schedulerName", "schedulingGates"),
        *("runtimeClassName", "hostNetwork", "hostPort", "resourceClaims", "strategy", "updateStrategy"),
        *("rollingUpdate", "maxSurge", "maxUnavailable", "minAvailable", "unhealthyPodEvictionPolicy"),
        *("requests", "limits", "volumeBindingMode", "allowedTopologies"),
    )
)
#: The least length of a name to compare with: shorter names resemble too many others.
_SHORTEST: Final = 7


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    for steps, finding in unknown_with_steps(obj.raw, obj.api_version, obj.kind):
        name = steps[-1]
        if not isinstance(name, str) or not is_rendered(name):
            continue
        meant = name if name in _SCHEDULING else nearest(name, (each for each in _SCHEDULING if len(each) >= _SHORTEST))
        if not meant or (meant != name and len(name) < _SHORTEST - 1):
            continue
        yield Problem(
            message=finding.problem, steps=steps, help=finding.hint or f"{meant} does not belong here", key=True
        )
