"""A topology spread constraint counts no pods, as it has no label selector, or all pods, as its selector is empty.

Without ``labelSelector`` no pods are counted and the constraint spreads nothing. ``{}`` counts every pod of the
namespace (info): the pods are then spread relative to all others, which is rarely intended.

The API server accepts the object; without a selector it adds a warning that is easily missed, and the pods run. With an
empty selector and DoNotSchedule, pods can stay pending because of unrelated pods.

Repair: select the pods' own labels.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import Fix, setting
from kschedctl.linter.labels import selects_everything
from kschedctl.linter.pods import DO_NOT_SCHEDULE, WorkloadPods
from kschedctl.linter.relations import own_selector
from kschedctl.linter.rule import Problem, Stage
from kschedctl.linter.values import Steps

FAILS = """v1 Pod web
labels: {app: web}
topologySpreadConstraints:
- maxSkew: 1  # <-
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
"""
PASSES = FAILS.replace("ScheduleAnyway", "ScheduleAnyway\n  labelSelector:\n    matchLabels: {app: web}")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for part in pods.spread:
        selector = part.raw.get("labelSelector")
        if selector is None:
            # The API server refuses matchLabelKeys without a selector.
            if not part.raw.get("matchLabelKeys"):
                yield Problem(
                    message="the constraint has no labelSelector: it counts no pods and spreads nothing",
                    steps=part.steps,
                    help="select the pods' own labels",
                    fix=_fix(pods, part.steps),
                )
        elif selects_everything(selector) and not part.raw.get("matchLabelKeys"):
            yield Problem(
                message="an empty labelSelector counts every pod of the namespace",
                steps=(*part.steps, "labelSelector"),
                help="select the pods' own labels",
                severity=Severity.INFO,
                stop=Stage.WAITS if part.raw.get("whenUnsatisfiable") == DO_NOT_SCHEDULE else None,
            )


def _fix(pods: WorkloadPods, steps: Steps) -> Fix | None:
    selector = own_selector(pods)
    if selector is None:
        return None
    return setting(pods.obj, "select the pods' own labels", ((*steps, "labelSelector"), selector), safe=False)
