"""The selector of a topology spread constraint does not hold for the pods' own labels.

The constraint counts other pods then, if any, and a pod adds nothing to the count that it goes by: all replicas may go
to one domain.

The API server takes it; pods pile up, or wait because of pods that they are not like.

Repair: select labels of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.fix import setting
from kschedctl.linter.labels import differing, holds
from kschedctl.linter.pods import Pods
from kschedctl.linter.relations import own_selector
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
labels: {app: web}
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  labelSelector:  # <-
    matchLabels: {app: wbe}
"""
PASSES = FAILS.replace("wbe", "web")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
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
