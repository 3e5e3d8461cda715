"""Empty label selectors of topology spread constraints and disruption budgets, by release."""

import pytest

from kschedctl.common.findings import Severity
from kschedctl.linter.rule import Stage
from kschedctl.objects.releases.release import RELEASES
from tests.linter.linting import lint

OLD, NEW = RELEASES["1.37"], RELEASES["1.38"]
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def deployment(selector: str, when: str = HARD) -> str:
    return f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 4
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      nodeSelector: {{topology.kubernetes.io/zone: a}}
      topologySpreadConstraints:
      - {{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, minDomains: 2, whenUnsatisfiable: {when}{selector}}}
      - {{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: {when}{selector}}}
      containers: [{{name: c, image: nginx}}]
"""


def budget(selector: str) -> str:
    return f"""apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web}}
spec: {{maxUnavailable: 1{selector}}}
"""


#: The selectors of two constraints, and the codes of findings by the rules of 1.37 and of 1.38.
SELECTORS = {
    "empty": (", labelSelector: {}", {"KS129"}, {"KS109", "KS112", "KS113", "KS114"}),
    "empty matchLabels": (", labelSelector: {matchLabels: {}}", {"KS129"}, {"KS109", "KS112", "KS113", "KS114"}),
    "empty matchExpressions": (
        ", labelSelector: {matchExpressions: []}",
        {"KS129"},
        {"KS109", "KS112", "KS113", "KS114"},
    ),
    "empty, and matchLabelKeys with a label of the pods": (
        ", labelSelector: {}, matchLabelKeys: [app]",
        {"KS112", "KS113", "KS114"},
        {"KS112", "KS113", "KS114"},
    ),
    "empty, and matchLabelKeys without a label of the pods": (
        ", labelSelector: {}, matchLabelKeys: [part]",
        {"KS115", "KS129"},
        {"KS109", "KS112", "KS113", "KS114", "KS115"},
    ),
    "none": ("", {"KS109"}, {"KS109"}),
    "the pods' labels": (
        ", labelSelector: {matchLabels: {app: web}}",
        {"KS112", "KS113", "KS114"},
        {"KS112", "KS113", "KS114"},
    ),
}


@pytest.mark.parametrize("case", SELECTORS)
def test_an_empty_selector_counts_by_the_release(case: str) -> None:
    selector, old, new = SELECTORS[case]
    found = [{each.rule.code for each in lint(deployment(selector), "KS1", release=each)} for each in (OLD, NEW)]
    wanted = {"KS109", "KS112", "KS113", "KS114", "KS115", "KS129"}
    assert [codes & wanted for codes in found] == [old, new]


@pytest.mark.parametrize(
    ("when", "severity", "stop"), [(HARD, Severity.WARNING, Stage.WAITS), (SOFT, Severity.INFO, None)]
)
def test_what_an_upgrade_changes_for_a_constraint(when: str, severity: Severity, stop: Stage | None) -> None:
    found = lint(deployment(", labelSelector: {}", when), "KS129", release=OLD)
    assert {(each.severity, each.stop, each.finding.problem) for each in found} == {
        (
            severity,
            stop,
            "an empty labelSelector counts no pods until Kubernetes 1.37, and every pod of the namespace from 1.38 on",
        )
    }


def test_replicas_are_not_kept_apart_by_a_constraint_that_counts_nothing() -> None:
    text = deployment(", labelSelector: {}").replace("nodeSelector", "x-nodeSelector")
    found = [len(lint(text, "KS210", release=each)) for each in (OLD, NEW)]
    assert found == [1, 0]


@pytest.mark.parametrize(
    ("selector", "old", "new"),
    [
        pytest.param(", selector: {}", ["KS305", "KS315"], ["KS305"], id="empty"),
        pytest.param(", selector: {matchLabels: {}}", ["KS305", "KS315"], ["KS305"], id="empty matchLabels"),
        pytest.param(", selector: {matchExpressions: []}", ["KS305", "KS315"], ["KS305"], id="empty matchExpressions"),
        pytest.param(", selector: null", ["KS305"], ["KS305"], id="none"),
        pytest.param(", selector: {matchLabels: {app: web}}", [], [], id="labels"),
    ],
)
def test_an_empty_selector_of_a_budget_protects_by_the_release(selector: str, old: list[str], new: list[str]) -> None:
    found = [{each.rule.code for each in lint(budget(selector), "KS3", release=r)} for r in (OLD, NEW)]
    assert [sorted(codes & {"KS305", "KS315"}) for codes in found] == [old, new]
