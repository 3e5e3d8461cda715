"""The number of pods of a workload, rollouts that start new pods first, and selectors of their labels."""

from typing import Any

import pytest

from kschedctl.linter.context import LintContext
from kschedctl.linter.labels import PodLabels, holds
from kschedctl.linter.lint_files import read_text
from kschedctl.linter.manifest_set import LintManifests
from kschedctl.linter.pods import rollout

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  SPEC
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""
HPA = """---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, SPEC}
"""
KEDA = """---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec: {scaleTargetRef: {name: web}, SPEC}
"""


def context_of(text: str) -> LintContext:
    return LintContext(LintManifests([read_text(text.encode(), "manifest.yaml")]))


@pytest.mark.parametrize(
    ("spec", "scaler", "expected"),
    [
        ("{}", "", (1, 1)),
        ("replicas: 3", "", (3, 3)),
        ("replicas: 0", "", (0, 0)),
        ('replicas: "3"', "", None),
        ("replicas: ${REPLICAS}", "", None),
        ("replicas: 3", HPA.replace("SPEC", "minReplicas: 2, maxReplicas: 5"), (2, 5)),
        ("{}", HPA.replace("SPEC", "maxReplicas: 5"), (1, 5)),
        ("{}", HPA.replace("SPEC", "minReplicas: 0, maxReplicas: 5"), (1, 5)),
        # 0 switches autoscaling off.
        ("replicas: 0", HPA.replace("SPEC", "maxReplicas: 5"), (0, 0)),
        ("{}", HPA.replace("SPEC", "maxReplicas: $MOST"), None),
        ("{}", HPA.replace("name: web}, SPEC", "name: other}, maxReplicas: 5"), (1, 1)),
        ("{}", HPA.replace("apps/v1, kind", "extensions/v1beta1, kind").replace("SPEC", "maxReplicas: 5"), (1, 5)),
        ("{}", HPA.replace("apps/v1, kind", "other.io/v1, kind").replace("SPEC", "maxReplicas: 5"), (1, 1)),
        ("{}", KEDA.replace("SPEC", "maxReplicaCount: 5"), (1, 5)),
        ("{}", KEDA.replace("SPEC", "minReplicaCount: 2"), (2, 100)),
    ],
)
def test_autoscalers_say_how_many_there_are(spec: str, scaler: str, expected: tuple[int, int] | None) -> None:
    text = DEPLOYMENT.replace("  SPEC\n", f"  {spec}\n" if spec != "{}" else "") + scaler
    context = context_of(text)
    count = context.replicas(context.pods[0])
    assert (count and (count.low, count.high)) == expected


@pytest.mark.parametrize(
    ("spec", "n", "surge_and_down"),
    [
        # 25 % of each: surge rounds up, unavailable down.
        ("{}", 1, (1, 0)),
        ("{}", 3, (1, 0)),
        ("{}", 4, (1, 1)),
        ("{}", 0, (0, 1)),
        ("strategy: {rollingUpdate: {maxUnavailable: 34%}}", 3, (1, 1)),
        ("strategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}", 3, (0, 1)),
        # Both come to nothing, so that one pod may be missing.
        ("strategy: {rollingUpdate: {maxUnavailable: 10%, maxSurge: 0%}}", 3, (0, 1)),
        ("strategy: {type: RollingUpdate}", 2, (1, 0)),
        ("strategy: {type: Recreate}", 3, None),
        ("strategy: {rollingUpdate: {maxUnavailable: $DOWN}}", 3, None),
    ],
)
def test_rollouts(spec: str, n: int, surge_and_down: tuple[int, int] | None) -> None:
    context = context_of(DEPLOYMENT.replace("  SPEC\n", f"  {spec}\n" if spec != "{}" else ""))
    how = rollout(context.pods[0], n)
    assert (how and (how.surge, how.down)) == surge_and_down


@pytest.mark.parametrize(
    ("strategy", "surge_and_down"),
    [
        ("{canary: {}}", (1, 0)),
        ("{canary: {maxUnavailable: 1}}", (1, 1)),
        ("{blueGreen: {activeService: web}}", (3, 0)),
    ],
)
def test_rollouts_of_argo(strategy: str, surge_and_down: tuple[int, int]) -> None:
    text = DEPLOYMENT.replace("apps/v1", "argoproj.io/v1alpha1").replace("Deployment", "Rollout")
    context = context_of(text.replace("SPEC", f"strategy: {strategy}"))
    how = rollout(context.pods[0], 3)
    assert how is not None
    assert (how.surge, how.down) == surge_and_down


WEB = {"app": "web", "tier": "$TIER"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchLabels": {"other": "x"}}, False),
        # Not filled in: nobody can tell.
        ({"matchLabels": {"tier": "front"}}, None),
        ({"matchLabels": {"app": "${APP}"}}, None),
        ({"matchLabels": {"app": "db", "tier": "front"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "other", "operator": "NotIn", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        # The controller adds it, with a value that nobody knows.
        ({"matchLabels": {"pod-template-hash": "abc"}}, None),
        # What is none is not judged.
        ({"matchLabels": ["app"]}, None),
        ({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["w"]}]}, None),
        ("app=web", None),
    ],
)
def test_selectors_hold_or_not_or_nobody_can_tell(selector: Any, expected: bool | None) -> None:
    assert holds(selector, PodLabels.of(WEB, "apps/Deployment")) is expected


def test_pods_of_a_kind_that_is_not_known_may_have_any_label() -> None:
    assert holds({"matchLabels": {"other": "x"}}, PodLabels.of(WEB, open=True)) is None
    assert holds({"matchLabels": {"other": "x"}}, PodLabels.of({"{{ key }}": "x"})) is None


CONFIG = """apiVersion: apps.openshift.io/v1
kind: DeploymentConfig
metadata: {name: web}
spec:
  replicas: 2
  selector: {app: web}
  strategy: STRATEGY
  triggers: TRIGGERS
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("{}", (1, 0)),
        ("{type: Rolling, rollingParams: {maxSurge: 0, maxUnavailable: 1}}", (0, 1)),
        ("{type: Rolling, rollingParams: {maxSurge: 50%}}", (1, 0)),
        ("{type: Recreate}", None),
        ("{type: Custom}", None),
    ],
)
def test_a_deployment_config_is_a_workload(strategy: str, expected: tuple[int, int] | None) -> None:
    context = context_of(CONFIG.replace("STRATEGY", strategy).replace("TRIGGERS", "[]"))
    (pods,) = context.workloads
    assert context.replicas(pods) == (2, 2, None)
    assert rollout(pods, 2) == expected


@pytest.mark.parametrize(("triggers", "n"), [("[]", 0), ("[{type: ConfigChange}]", 0), ("[{type: ImageChange}]", 1)])
def test_a_trigger_sets_the_image_of_a_deployment_config(triggers: str, n: int) -> None:
    text = CONFIG.replace("STRATEGY", "{}").replace("TRIGGERS", triggers).replace(", image: nginx", "")
    assert len(context_of(text).workloads) == n
