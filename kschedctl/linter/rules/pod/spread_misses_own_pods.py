"""The selector of a topology spread constraint does not match the pods' own labels.

The constraint then counts other pods, if any, and placing a pod does not change the count: all replicas may be
scheduled to one domain.

The API server accepts the object, and the pods run, all in one domain at worst. If the selector matches other pods and
whenUnsatisfiable is DoNotSchedule, they can stay pending because of these.

Repair: select labels of the template.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.labels import differing, holds
from kschedctl.linter.pods import DO_NOT_SCHEDULE, TemplatePart, WorkloadPods
from kschedctl.linter.relations import own_selector
from kschedctl.linter.rule import Problem, Stage
from kschedctl.objects.pod import TopologySpreadConstraint

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
            stop=Stage.WAITS if _counts_others(part, pods, context) else None,
            fix=setting(pods.obj, "select the pods' own labels", (steps, own), safe=False) if own else None,
        )


def _counts_others(part: TemplatePart[TopologySpreadConstraint], pods: WorkloadPods, context: LintContext) -> bool:
    """Report whether a constraint can keep pods pending because of other pods that it counts."""
    if part.raw.get("whenUnsatisfiable") != DO_NOT_SCHEDULE:
        return False
    selector = part.raw.get("labelSelector")
    same = (other for other in context.pods if other.namespace == pods.namespace)
    if any(holds(selector, other.labels) for other in same):
        return True
    return context.overlay is not None and context.overlay.matches_pods(selector, pods.namespace)
