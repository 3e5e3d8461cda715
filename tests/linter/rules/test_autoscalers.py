"""Rules about the targets and the metrics of autoscalers."""

import pytest

from kschedctl.linter.examples import manifests, node, snapshot
from tests.linter.linting import lint


def hpa(version: str, kind: str, name: str, own: str = "web") -> str:
    target = f"scaleTargetRef: {{apiVersion: {version}, kind: {kind}, name: {name}}}\nmaxReplicas: 3\n"
    return f"autoscaling/v2 HorizontalPodAutoscaler {own}\n{target}"


def messages(text: str, rule: str, snapshot: str = "") -> list[str]:
    return [each.message for each in lint(manifests(text), rule, snapshot=snapshot)]


@pytest.mark.parametrize(
    ("version", "kind", "name", "message"),
    [
        ("apps/v1", "Deployment", "web", None),
        ("apps/v1", "StatefulSet", "web", "the target StatefulSet web is not in the manifest set; web is a Deployment"),
        ("apps/v1", "StatefulSet", "other", None),
        ("extensions/v1beta1", "Deployment", "web", 'the target is not found: group "extensions" has no Deployment'),
        ("app/v1", "Deployment", "web", 'the target is not found: group "app" has no Deployment'),
        ("apps/v1", "deployment", "web", 'the target is not found: group "apps" has no deployment'),
        ("apps/v1", "Deploymnet", "web", 'the target is not found: group "apps" has no Deploymnet'),
        ("apps/v1", "Database", "web", None),
        # The API server refuses an empty group, which KS906 reports.
        ('""', "Deployment", "web", None),
        ("apps/v1", "DaemonSet", "web", "the target is a DaemonSet, whose number of pods cannot be scaled"),
        ("batch/v1", "Job", "web", "the target is a Job, whose number of pods cannot be scaled"),
        # Kinds of custom resources, which may be in other files.
        ("apps.kruise.io/v1alpha1", "StatefulSet", "web", None),
        ("argoproj.io/v1alpha1", "Rollout", "web", None),
        ("${VERSION}", "StatefulSet", "web", None),
    ],
)
def test_a_target_of_another_kind(version: str, kind: str, name: str, message: str | None) -> None:
    text = f"{hpa(version, kind, name)}---\napps/v1 Deployment web\n"
    assert messages(text, "KS212") == ([message] if message else [])


DEPLOYMENT = "apps/v1 Deployment web\n"


@pytest.mark.parametrize(
    ("given", "cluster", "found"),
    [
        ("", "", ["the target Deployment web does not exist"]),
        (DEPLOYMENT, "", []),
        # KS212 reports a workload of another kind.
        ("apps/v1 StatefulSet web\n", "", []),
        ("", DEPLOYMENT, []),
        ("", "apps/v1 Deployment api\n", ["the target Deployment web does not exist"]),
        # A snapshot without Deployments may not have been asked for them.
        ("", "v1 Pod web\n", []),
    ],
)
def test_a_target_that_does_not_exist(given: str, cluster: str, found: list[str]) -> None:
    text = hpa("apps/v1", "Deployment", "web") + (f"---\n{given}" if given else "")
    assert messages(text, "KS213", snapshot(node("a"), cluster) if cluster else "") == found


@pytest.mark.parametrize(
    ("name", "kind", "target", "found"),
    [
        ("other", "Deployment", "web", True),
        ("other", "Deployment", "api", False),
        ("other", "StatefulSet", "web", False),
        # One object, given twice.
        ("web", "Deployment", "web", False),
    ],
)
def test_two_autoscalers_of_one_target(name: str, kind: str, target: str, found: bool) -> None:
    text = f"{hpa('apps/v1', 'Deployment', 'web')}---\n{hpa('apps/v1', kind, target, name)}"
    assert messages(text, "KS214") == (
        ["HorizontalPodAutoscaler web has the same target, Deployment web: neither scales it"] if found else []
    )


def test_autoscalers_of_several_folders_are_variants() -> None:
    texts = {f"{each}/hpa.yaml": manifests(hpa("apps/v1", "Deployment", "web", each)) for each in ("dev", "prod")}
    assert lint(texts, "KS214") == []


def test_a_scaled_object_counts_as_an_autoscaler() -> None:
    scaled = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\n"
    text = manifests(hpa("apps/v1", "Deployment", "web"))
    [found] = lint(f"{text}---\n{scaled}spec: {{scaleTargetRef: {{name: web}}}}\n", "KS214")
    assert found.message == "ScaledObject web has the same target, Deployment web: neither scales it"


UTILIZATION = "target: {type: Utilization, averageUtilization: 70}"
CPU = f"metrics: [{{type: Resource, resource: {{name: cpu, {UTILIZATION}}}}}]"
OF_CONTAINER = (
    f"metrics: [{{type: ContainerResource, containerResource: {{name: cpu, container: NAME, {UTILIZATION}}}}}]"
)
CONTAINERS = "containers: [{name: web, image: a, resources: {requests: {cpu: 1}}}, {name: proxy, image: b}]"
LIMIT_RANGE = "---\nv1 LimitRange web\nspec: {limits: [{type: Container, defaultRequest: {cpu: 100m}}]}\n"
CONFIG = """---
apiVersion: apps.openshift.io/v1
kind: DeploymentConfig
metadata: {name: config}
spec: {replicas: 1, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: a}]}}}
"""


@pytest.mark.parametrize(
    ("metrics", "pods", "lacking"),
    [
        pytest.param(CPU, "", "web", id="no request"),
        pytest.param(CPU, "resources: {requests: {cpu: 1}}", "", id="a request"),
        pytest.param(CPU, "resources: {limits: {cpu: 1}}", "", id="a limit is the default of the request"),
        pytest.param(CPU, "resources: {requests: {memory: 1Gi}}", "web", id="a request of another resource"),
        pytest.param(CPU, CONTAINERS, "proxy", id="one container without a request"),
        pytest.param(OF_CONTAINER.replace("NAME", "web"), CONTAINERS, "", id="a metric of the other container"),
        pytest.param(OF_CONTAINER.replace("NAME", "proxy"), CONTAINERS, "proxy", id="a metric of this container"),
        pytest.param(
            CPU.replace("Utilization, averageUtilization: 70", "AverageValue, averageValue: 1"), "", "", id="value"
        ),
        pytest.param(CPU.replace("name: cpu", "name: $RESOURCE"), "", "", id="a placeholder"),
        pytest.param("minReplicas: 1", "", "web", id="80 % of the CPU by default"),
        pytest.param("metrics: [{type: Pods, pods: {}}]", "", "", id="other metrics"),
        pytest.param(
            CPU, "initContainers: [{name: a, image: a}]\nresources: {requests: {cpu: 1}}", "", id="init container"
        ),
        pytest.param(CPU, LIMIT_RANGE, "", id="a LimitRange may set the request"),
        pytest.param(CPU, LIMIT_RANGE.replace("defaultRequest", "max"), "", id="any limit is the default"),
        pytest.param(CPU, LIMIT_RANGE.replace("cpu", "memory"), "web", id="a LimitRange of another resource"),
        pytest.param(CPU, LIMIT_RANGE.replace("100m", "$CPU"), "", id="a LimitRange with a placeholder"),
    ],
)
def test_utilization_needs_requests(metrics: str, pods: str, lacking: str) -> None:
    text = f"{hpa('apps/v1', 'Deployment', 'web')}{metrics}\n---\napps/v1 Deployment web\n{pods}\n"
    (told,) = messages(text, "KS215") or [""]
    assert (f"container {lacking} of Deployment web does not request it" in told) is bool(lacking)


def test_the_containers_without_a_request_are_named_in_a_sentence() -> None:
    containers = "containers: [{name: a, image: a}, {name: b, image: b}]"
    (told,) = messages(
        f"{hpa('apps/v1', 'Deployment', 'web')}{CPU}\n---\napps/v1 Deployment web\n{containers}\n", "KS215"
    )
    assert told.endswith("containers a and b of Deployment web do not request it")


@pytest.mark.parametrize(
    ("container", "value", "help_"),
    [
        ("proxi", UTILIZATION, "did you mean proxy?"),
        ("other", UTILIZATION, "its containers: web and proxy"),
        ("other", "target: {type: AverageValue, averageValue: 1}", "its containers: web and proxy"),
        ("web", "target: {type: AverageValue, averageValue: 1}", ""),
        ("$NAME", UTILIZATION, ""),
        # A container that a webhook adds.
        ("istio-proxy", UTILIZATION, ""),
    ],
)
def test_a_metric_of_a_container_that_the_pods_lack(container: str, value: str, help_: str) -> None:
    metrics = OF_CONTAINER.replace("NAME", container).replace(UTILIZATION, value)
    text = f"{hpa('apps/v1', 'Deployment', 'web')}{metrics}\n---\napps/v1 Deployment web\n{CONTAINERS}\n"
    found = lint(manifests(text), "KS215")
    assert [(each.finding.field, each.help) for each in found] == (
        [("spec.metrics[0].containerResource.container", help_)] if help_ else []
    )


def test_utilization_in_former_versions_and_of_custom_kinds() -> None:
    old = hpa("apps/v1", "Deployment", "web").replace("autoscaling/v2", "autoscaling/v1")
    found = lint(manifests(f"{old}targetCPUUtilizationPercentage: 80\n---\napps/v1 Deployment web\n"), "KS215")
    assert [each.finding.field for each in found] == ["spec.targetCPUUtilizationPercentage"]
    beta = hpa("apps/v1", "Deployment", "web").replace("autoscaling/v2", "autoscaling/v2beta1")
    metric = "metrics: [{type: Resource, resource: {name: memory, targetAverageUtilization: 80}}]"
    found = lint(manifests(f"{beta}{metric}\n---\napps/v1 Deployment web\n"), "KS215")
    assert [each.finding.field for each in found] == ["spec.metrics[0].resource.targetAverageUtilization"]
    found = lint(manifests(hpa("apps.openshift.io/v1", "DeploymentConfig", "config")) + CONFIG, "KS215")
    assert len(found) == 1


@pytest.mark.parametrize(("namespace", "n"), [("default", 0), ("other", 1)])
def test_a_limit_range_of_the_cluster_may_set_the_request(namespace: str, n: int) -> None:
    limits = (
        "{apiVersion: v1, kind: LimitRange, metadata: {name: a, namespace: NAMESPACE}, "
        "spec: {limits: [{type: Container, default: {cpu: 1}}]}}\n"
    )
    cluster = f"{snapshot(node('a'))}---\n{limits.replace('NAMESPACE', namespace)}"
    text = f"{hpa('apps/v1', 'Deployment', 'web')}{CPU}\n---\napps/v1 Deployment web\n"
    assert len(messages(text, "KS215", cluster)) == n
