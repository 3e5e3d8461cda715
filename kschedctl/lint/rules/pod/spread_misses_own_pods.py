"""The selector of a topology spread constraint does not hold for the pods' own labels.

The constraint counts other pods then, if any, and a pod adds nothing to the count that it goes by: all replicas may go
to one domain.

The API server takes it; pods pile up, or wait because of pods that they are not like.

Repair: select labels of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.fix import setting
from kschedctl.lint.labels import differing, holds
from kschedctl.lint.own_selector import own_selector
from kschedctl.lint.pods import Pods
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector:  # <-
      matchLabels: {app: wbe}
  containers:
  - name: web
    image: nginx
"""
PASSES = FAILS.replace("wbe", "web")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Constraints whose selector does not hold for the template."""
    for part in pods.spread:
        selector = part.raw.get("labelSelector")
        if selector is None or holds(selector, pods.labels) is not False:
            continue
        steps = (*part.steps, "labelSelector")
        own = own_selector(pods)
        yield Problem(
            message=f"the constraint does not count the pods themselves: {differing(selector, pods.labels)} does not "
            "hold for their labels",
            steps=steps,
            help="select labels of the template",
            fix=setting(pods.obj, "select the pods' own labels", (steps, own)) if own else None,
        )
