"""The selector of a topology spread constraint does not match the pods' own labels.

The constraint then counts other pods, if any, and placing a pod does not change the count: all replicas may be
scheduled to one domain.

The API server accepts the object; pods share a domain, or stay pending because of unrelated pods.

Repair: select labels of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.labels import differing, holds
from kschedctl.linter.pods import WorkloadPods
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


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for part in pods.spread:
        selector = part.raw.get("labelSelector")
        if selector is None or holds(selector, pods.labels) is not False:
            continue
        steps = (*part.steps, "labelSelector")
        own = own_selector(pods)
        yield Problem(
            message=f"the constraint does not count the pods themselves: {differing(selector, pods.labels)} does not "
            "match their labels",
            steps=steps,
            help="select labels of the template",
            fix=setting(pods.obj, "select the pods' own labels", (steps, own), safe=False) if own else None,
        )
