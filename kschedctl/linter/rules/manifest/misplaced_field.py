"""A field is misspelt, or is at a place where its kind has no such field, so it has no effect.

Examples are ``nodeSelector`` beside ``template`` instead of in the template's spec, ``requests`` beside ``resources``,
``topologySpreadConstraint``, and preferred anti-affinity without ``podAffinityTerm``. The rule checks all fields of the
kinds of Kubernetes itself, by group and version; custom resources may have any fields. Left out are the keys of tools
that remove them before the object reaches the API server: ``sops``, patch directives such as ``$patch``, and anchors in
parentheses as in ``(image)``.

The API server refuses the object if strict validation is requested, as by kubectl; Helm and older clients drop the
field silently.

Repair: as the message says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import is_rendered
from kschedctl.objects.schema.schema import unknown_with_steps

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

#: Keys of tools: directives of strategic merge patches, and the anchors of Kyverno, such as ``+(name)``.
_OF_TOOLS: Final = re.compile(r"\$.*|[+=^X<]?\(.*\)")
#: The field in which SOPS stores the keys of an encrypted object.
_SOPS: Final = ("sops",)


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    for steps, finding in unknown_with_steps(obj.raw, obj.api_version, obj.kind):
        name = steps[-1]
        if isinstance(name, str) and is_rendered(name) and not _OF_TOOLS.fullmatch(name) and steps != _SOPS:
            yield Problem(message=finding.problem, steps=steps, help=finding.hint, key=True)
