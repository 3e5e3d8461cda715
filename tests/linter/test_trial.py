"""Refusals by admission in the cluster are errors, at their place in the manifest, and the reason is named."""

import pytest

from kschedctl.linter.examples import manifests, node, snapshot
from tests.linter.linting import lint

POD = """apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: web
    image: nginx
    resources:
      requests: {cpu: 200m, memory: 2Gi}
"""
CRON_JOB = """apiVersion: batch/v1
kind: CronJob
metadata: {name: web, namespace: shop}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: web
            image: nginx
            resources:
              requests: {cpu: 200m, memory: 2Gi}
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx
        resources:
          requests: {cpu: 200m, memory: 2Gi}
      - name: log
        image: fluentd
        resources:
          requests: {cpu: 300m}
"""
LIMITS = "v1 LimitRange {}\nnamespace: shop\nspec:\n  limits:\n  - type: Container\n    {}\n"
GVISOR = """apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
overhead: {podFixed: {cpu: 100m}}
scheduling: {nodeSelector: {runtime: gvisor}}
"""
QUOTA = """apiVersion: v1
kind: ResourceQuota
metadata: {name: limits, namespace: shop}
spec: {hard: {limits.cpu: "10"}}
status: {hard: {limits.cpu: "10"}, used: {limits.cpu: "0"}}
"""
DEFAULT = LIMITS.format("defaults", "default: {cpu: 100m}")
ABOVE_DEFAULT = 'Invalid value: "200m": must be less than or equal to cpu limit of 100m'
SETS = "LimitRange defaults of shop sets the cpu limit to 100m"


def gvisor(field: str) -> str:
    return POD.replace("spec:\n", f"spec:\n  runtimeClassName: gvisor\n  {field}\n")


@pytest.mark.parametrize(
    ("manifest", "objects", "expected"),
    [
        (POD, [], []),
        (POD, [LIMITS.format("defaults", "default: {cpu: 200m}")], []),
        (POD, [DEFAULT.replace("shop", "other")], []),
        (POD, [DEFAULT], [("9:7 A", ABOVE_DEFAULT, SETS)]),
        (CRON_JOB, [DEFAULT], [("15:15 B", ABOVE_DEFAULT, f"{SETS}; the CronJob itself is accepted: its pods")]),
        (
            DEPLOYMENT,
            [DEFAULT],
            [
                ("13:11 B", ABOVE_DEFAULT, f"{SETS}; the Deployment itself is accepted: its pods"),
                ("17:11 B", ABOVE_DEFAULT.replace('"200m"', '"300m"'), SETS),
            ],
        ),
        (
            POD,
            [LIMITS.format("first", "default: {memory: 4Gi}"), LIMITS.format("small", "max: {memory: 1Gi}")],
            [
                (
                    "8:5 A",
                    "maximum memory usage per Container is 1Gi, but limit is 4Gi",
                    "LimitRange small of shop sets this constraint",
                )
            ],
        ),
        (
            gvisor("overhead: {cpu: 200m}"),
            [GVISOR],
            [
                (
                    "6:3 A",
                    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
                    "leave it out; an API server sets it from the RuntimeClass",
                )
            ],
        ),
        (
            gvisor("nodeSelector: {runtime: runc}"),
            [GVISOR],
            [
                (
                    "6:27 A",
                    "conflict: runtimeClass.scheduling.nodeSelector[runtime] = gvisor; pod.spec.nodeSelector[runtime]"
                    " = runc",
                    "leave it out, or name another RuntimeClass",
                )
            ],
        ),
        (
            DEPLOYMENT,
            [QUOTA],
            [
                (
                    "9:7 B",
                    "failed quota: limits: must specify limits.cpu for: log,web",
                    "request what quota limits counts, in all containers",
                )
            ],
        ),
        # KS906, KS310 and KS507 report what has other reasons.
        (POD.replace("name: web\n", "name: Web\n"), [DEFAULT], []),
        (gvisor("priority: 7"), [GVISOR], []),
        (gvisor(""), [GVISOR.replace("name: gvisor", "name: kata")], []),
    ],
    ids=lambda value: " ".join(value.split()[:4]) if isinstance(value, str) else "",
)
def test_what_the_cluster_refuses_is_an_error(
    manifest: str, objects: list[str], expected: list[tuple[str, str, str]]
) -> None:
    found = lint(manifest, "KS512", snapshot=snapshot(node("a"), *objects))
    places = [f"{each.region.line}:{each.region.column} {each.stop}" for each in found]
    assert places == [place for place, _, _ in expected]
    for each, (_, problem, hint) in zip(found, expected, strict=True):
        assert (each.message, each.severity) == (f"the cluster refuses the pods: {problem}", "error")
        assert each.help.startswith(hint)


def test_limits_of_the_manifests_count() -> None:
    [found] = lint(f"{POD}---\n{manifests(DEFAULT)}", "KS512", snapshot=node("a"))
    assert found.help == SETS
