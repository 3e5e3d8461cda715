"""Manifests: rejections by an API server, old versions, unknown fields and kinds, and fields to be filled in."""

import pytest

from kschedctl.linter.examples import manifests
from kschedctl.linter.lint_files import read_text
from kschedctl.linter.rule import Stage
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, lint_files
from tests.linter.linting import lint

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx
"""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", "", []),
        ("replicas: 3", "replicas: -1", ["5:13 KS906 error"]),
        ("replicas: 3", 'replicas: "3"', ["5:13 KS906 error"]),
        ("replicas: 3", "replicas: ${REPLICAS}", []),
        ("selector: {matchLabels: {app: web}}", "selector: {matchLabels: {app: db}}", ["8:16 KS906 error"]),
        ("labels: {app: web}", "labels: {app: $APP}", []),
        ("- name: web", "- name: Web", ["11:15 KS906 error"]),
        ("- name: web", '- name: "{{ .Values.name }}"', []),
        ("    spec:\n", "    spec:\n      restartPolicy: Never\n", ["10:22 KS906 error"]),
        # The workload is taken, its pods are not.
        ("    spec:\n", "    spec:\n      overhead: {cpu: 1}\n", ["10:7 KS907 error"]),
        # What KS310 says is not said twice.
        ("    spec:\n", "    spec:\n      priority: 7\n", []),
    ],
)
def test_refusals_have_places(before: str, after: str, told: list[str]) -> None:
    found = [each for each in lint(DEPLOYMENT.replace(before, after)) if each.rule.code in ("KS906", "KS907")]
    assert [f"{each.region.line}:{each.region.column} {each.rule.code} {each.severity}" for each in found] == told


def test_the_message_is_that_of_the_api_server() -> None:
    [found] = lint(DEPLOYMENT.replace("replicas: 3", "replicas: -1"), "KS906")
    assert found.message == "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    assert (found.stop, found.finding.field) == ("A", "spec.replicas")


SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports: [{port: 80}]\n"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ("  selectors: {app: web}\n", "spec.selectors"),
        ("sops: {mac: x}\n", None),
        ("  sops: {mac: x}\n", "spec.sops"),
        ("  (type): LoadBalancer\n", None),
        ("  +(type): LoadBalancer\n", None),
        ("  $patch: replace\n", None),
        ("  $setElementOrder/ports: [{port: 80}]\n", None),
        ("  {{ .Values.key }}: x\n", None),
    ],
    ids=lambda value: value.strip() if value else "none",
)
def test_keys_of_tools_are_no_unknown_fields(more: str, field: str | None) -> None:
    found = lint(SERVICE + more, "KS904")
    assert [each.message for each in found] == ([f'unknown field "{field}"'] if field else [])


@pytest.mark.parametrize(
    ("version", "kind", "help_"),
    [
        ("apps/v1", "Deploymnet", "did you mean Deployment?"),
        ("apps/v1", "deployment", "did you mean Deployment?"),
        ("v1", "Deployment", "Deployment is in apps/v1"),
        ("apps/v1", "HorizontalPodAutoscaler", "HorizontalPodAutoscaler is in autoscaling/v1 or autoscaling/v2"),
        ("apps/v1", "Deployment", None),
        ("apps/v1", "Database", None),
        ("v1", "PodList", None),
        ("example.com/v1", "Deploymnet", None),
        # API groups: those of custom resources have a dot.
        ("app/v1", "Deployment", "did you mean apps/v1?"),
        ("apps", "Deployment", "did you mean apps/v1?"),
        ("apps/V1", "Deployment", "did you mean apps/v1?"),
        ("apps.k8s.io/v1", "Deployment", "did you mean apps/v1?"),
        ("netwrking.k8s.io/v1", "Ingress", "did you mean networking.k8s.io/v1?"),
        ("autoscalling/v2", "HorizontalPodAutoscaler", "did you mean autoscaling/v1 or autoscaling/v2?"),
        ("serving.knative.dev/v1", "Service", None),
        ("networking.internal.knative.dev/v1alpha1", "Ingress", None),
        ("scheduling.x-k8s.io/v1alpha1", "PriorityClass", None),
        ("batch.volcano.sh/v1alpha1", "Job", None),
        ("${GROUP}/v1", "Deployment", None),
        ("apps/v1", "${KIND}", None),
    ],
)
def test_a_kind_that_no_release_serves(version: str, kind: str, help_: str | None) -> None:
    found = lint(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web}}\n", "KS905")
    expected = [(f'no matches for kind "{kind}" in version "{version}"', help_)] if help_ else []
    assert [(each.message, each.help) for each in found] == expected


INGRESS = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: web}\n"
OLD_DEPLOYMENT = "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: web}\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"web.yaml": INGRESS, "b.yaml": INGRESS}, ["error", "error"]),
        ({"older/web.yaml": INGRESS}, ["error"]),
        ({"bold/old.yaml": INGRESS}, ["error"]),
        ({"old/web.yaml": INGRESS}, ["info (1 object in old), exclude: [old]"]),
        ({"a/old-manifests/x/web.yaml": INGRESS}, ["info (1 object in a/old-manifests), exclude: [a/old-manifests]"]),
        ({"api/testdata/web.yaml": INGRESS}, ["info (1 object in api/testdata), exclude: [api/testdata]"]),
        # Once per version and kind.
        (
            {"old/a.yaml": INGRESS, "old/b/c.yaml": INGRESS, "old/b/d.yaml": OLD_DEPLOYMENT},
            ["info (2 objects in old), exclude: [old]", "info (1 object in old), exclude: [old]"],
        ),
        (
            {"a/legacy/a.yaml": INGRESS, "b/Deprecated/a.yaml": INGRESS},
            [
                "info (1 object in a/legacy), exclude: [a/legacy]",
                "info (1 object in b/Deprecated), exclude: [b/Deprecated]",
            ],
        ),
        # Once for all releases of a folder.
        (
            {"install/v0.3.0/a.yaml": INGRESS, "install/v0.4.0/a.yaml": INGRESS},
            ['info (2 objects in install/v[0-9]*), exclude: ["install/v[0-9]*"]'],
        ),
        ({"e2e/a.yaml": INGRESS}, ["info (1 object in e2e), exclude: [e2e]"]),
    ],
)
def test_old_manifests_are_the_choice_of_the_author(files: dict[str, str], expected: list[str]) -> None:
    found = []
    for each in lint(files, "KS905"):
        place = each.message.partition(" (")[2]
        help_ = each.help.removeprefix("to leave the folder out, write ").removesuffix(" in the settings")
        found.append(f"{each.severity} ({place}, {help_}" if place else str(each.severity))
    assert found == expected


NEW_INGRESS = INGRESS.replace("extensions/v1beta1", "networking.k8s.io/v1")
BETA_INGRESS = INGRESS.replace("extensions", "networking.k8s.io")


@pytest.mark.parametrize(
    ("old", "new", "severity"),
    [
        ("ingress-v1beta1.yaml", "ingress.yaml", "info"),
        ("v1beta1.ingress.yaml", "ingress-v1.yaml", "info"),
        ("v1beta1/ingress.yaml", "v1/ingress.yaml", "info"),
        ("v1beta1/ingress.yaml", "ingress.yaml", "info"),
        ("a/ingress-v1beta1.yaml", "b/ingress.yaml", "error"),
        ("ingress-old1beta1.yaml", "ingress.yaml", "error"),
        ("ingress.yaml", "ingress-v1.yaml", "error"),
    ],
)
def test_a_former_version_beside_the_present_one_is_for_old_clusters(old: str, new: str, severity: str) -> None:
    for former in (BETA_INGRESS, INGRESS):
        (found,) = lint({old: former, new: NEW_INGRESS}, "KS905")
        assert (found.file.name, found.severity) == (old, severity)
    assert [each.severity for each in lint({old: BETA_INGRESS, new: BETA_INGRESS}, "KS905")] == ["error", "error"]


VOLUME = """apiVersion: v1
kind: PersistentVolume
metadata: {name: a}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  awsElasticBlockStore: {volumeID: VALUE}
"""


@pytest.mark.parametrize(
    ("value", "severity", "said"),
    [
        ("{volume-id}", "info", "{volume-id} is a placeholder"),
        ("{volume id}", "info", "{volume id} is a placeholder"),
        ("[VOLUME_ID]", "info", "[VOLUME_ID] is a placeholder that is not filled in, and YAML reads it as a list"),
        ("[volume]", "error", "cannot unmarshal"),
        ("{a: }", "error", "cannot unmarshal"),
        ("{a: b}", "error", "cannot unmarshal"),
        ("\n      a:", "error", "cannot unmarshal"),
    ],
)
def test_a_placeholder_in_braces_or_brackets_is_no_wrong_type(value: str, severity: str, said: str) -> None:
    (found,) = lint(VOLUME.replace("{volumeID: VALUE}", f"\n    volumeID: {value}"), "KS906")
    assert (found.severity, said in found.message) == (severity, True)


TWICE = """apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {app: web, app: %s}}
data:
  a:
    - b: 1
  c: x
  a:
%s
"""


@pytest.mark.parametrize(
    ("label", "value", "told"),
    [
        pytest.param("web", "    - b: 1", ["3:42 info", "8:3 info"], id="equal"),
        pytest.param('"web"', "    - {b: 1}", ["3:42 info", "8:3 info"], id="equal, written in another way"),
        pytest.param("db", "    - b: 2", ["3:42 error", "8:3 error"], id="different"),
        pytest.param("web", "", ["3:42 info", "8:3 error"], id="the last one is empty"),
    ],
)
@pytest.mark.parametrize("built", [False, True])
def test_repeated_keys_are_errors_if_a_value_is_lost_or_kustomize_reads_them(
    label: str, value: str, told: list[str], built: bool
) -> None:
    files = {"web.yaml": TWICE % (label, value)}
    if built:
        files["kustomization.yaml"] = "resources: [web.yaml]\n"
    read = [read_text(text.encode(), name) for name, text in files.items()]
    found = lint_files(read, LintRequest(rules=[rule for rule in RULES if rule.code == "KS903"])).found
    assert [f"{each.region.line}:{each.region.column} {each.severity}" for each in found] == (
        [each.replace("info", "error") for each in told] if built else told
    )
    assert {each.stop for each in found} == {Stage.REFUSED if built else None}


def test_repeated_keys_of_json_are_compared() -> None:
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "x", "a": %s}}'
    assert [each.severity for value in ('"x"', '"y"') for each in lint(text % value, "KS903")] == ["info", "error"]


@pytest.mark.parametrize(
    ("version", "kind", "value"),
    [
        ("batch/v1beta1", "CronJob", "batch/v1"),
        ("batch/v2alpha1", "CronJob", "batch/v1"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "autoscaling/v2"),
        # The fields of these differ.
        ("autoscaling/v2beta1", "HorizontalPodAutoscaler", None),
        ("policy/v1beta1", "PodDisruptionBudget", None),
        ("extensions/v1beta1", "Ingress", None),
        ("policy/v1beta1", "PodSecurityPolicy", None),
    ],
)
def test_a_version_with_the_same_fields_is_written(version: str, kind: str, value: str | None) -> None:
    job = "jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}\n"
    (found,) = lint(manifests(f"{version} {kind} web\n{job if kind == 'CronJob' else ''}"), "KS905")
    assert (found.fix is not None) is (value is not None)
    if found.fix is not None:
        assert found.fix.safe
        assert [(change.steps, change.value) for change in found.fix.changes] == [(("apiVersion",), value)]


INCOMPLETE = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: NAME}]}\n"


@pytest.mark.parametrize(
    ("file", "container", "severity"),
    [
        ("web.yaml", "web", "warning"),
        ("driver.yaml", "spark-kubernetes-driver", "info"),
        ("executor.yaml", "spark-kubernetes-executor", "info"),
        ("driver-pod-template.yaml", "web", "info"),
        ("pod-templates/driver.yaml", "web", "info"),
        ("web.yaml", "{a: b}", "warning"),
    ],
)
def test_pod_templates_of_tools_are_completed_by_them(file: str, container: str, severity: str) -> None:
    (found,) = lint({file: INCOMPLETE.replace("NAME", container)}, "KS908")
    assert found.severity == severity


CHART_FILE = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ a }}\n"


@pytest.mark.parametrize(
    ("files", "messages"),
    [
        (
            {"a/templates/x.yaml": CHART_FILE, "a/templates/y.yaml": CHART_FILE},
            ["chart a is not rendered (2 files could not be read)"],
        ),
        (
            {"a/templates/x.yaml": CHART_FILE, "b/templates/x.yaml": CHART_FILE, "b/templates/y.yaml": CHART_FILE},
            ["2 charts are not rendered, such as a (3 files could not be read)"],
        ),
        (
            {"a/templates/x.yaml": CHART_FILE, "x.yaml": CHART_FILE, "y.yaml": CHART_FILE},
            [
                "chart a is not rendered (1 file could not be read)",
                "is a template that is not rendered; 1 more file of this kind, such as y.yaml",
            ],
        ),
        (
            {"x.yaml": "apiVersion: v1\nkind: A\nspec:\n- image: {user}/a\n"},
            ["{user} is a placeholder that is not filled in, and YAML reads its braces as a mapping"],
        ),
    ],
)
def test_templates_are_reported_once(files: dict[str, str], messages: list[str]) -> None:
    assert [each.message for each in lint(files, "KS902")] == messages


@pytest.mark.parametrize(
    ("spec", "tool"),
    [
        ("- image: {user}/a\n", "sed 's/{user}/VALUE/g' FILE"),
        ("- image: {my user}/a\n", "sed 's/{my user}/VALUE/g' FILE"),
        ("  a: [x\n  b: ${USER}]\n", "envsubst < FILE"),
    ],
)
def test_the_help_names_a_tool_that_fills_in_the_placeholder(spec: str, tool: str) -> None:
    (found,) = lint(f"apiVersion: v1\nkind: A\nspec:\n{spec}", "KS902")
    assert found.help == f"lint the result: fill in the placeholders, as with {tool} | kschedctl lint -"
