"""Every command that reads manifests refuses what an API server refuses, in its words."""

import json
from pathlib import Path
from typing import Any

import pytest

from kschedctl.controllers.workloads import template
from tests.cli.in_process import run
from tests.objects.validation.probes import BASES, Probe, probes
from tests.paths import ROOT

SHOP = ROOT / "fixtures" / "shop" / "cluster"
#: Each was taken once though no API server does.
PROBES = (
    "In without values",
    "Gt with two values",
    "Lt without a value",
    "matchLabelKeys without selector",
    "matchLabelKeys with a key of the selector, which the pod has",
    "Deployment: matchLabelKeys with a key of the selector",
    "spread: matchLabelKeys without selector",
    "spread: matchLabelKeys with a key of the selector, which the pod has",
    "Deployment: spread with matchLabelKeys with a key of the selector",
    "extended resource without limit",
    "extended resource fractional",
    "resource gpu",
    "resource mem",
    "huge pages alone",
    "nodeName with gates",
    "host port twice",
    "host port twice across containers",
    "hostPort unlike containerPort under hostNetwork",
    "Deployment: surge 0 with unavailable 0",
    "Deployment: surge 0% with unavailable 0%",
    "Deployment: rollingUpdate under Recreate",
    "Deployment: percent without %",
    "Deployment: restartPolicy",
    "an unknown field",
    "a claim that is not declared",
    "a claim doubly sourced",
    "Deployment: overhead in its pods",
    "Deployment: priority in its pods",
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "web.json"


@pytest.mark.parametrize("probe", [probe for probe in probes() if probe.what in PROBES], ids=str)
@pytest.mark.parametrize("words", ["explain web.json", "explain shop/web-7 --apply web.json", "simulate web.json"])
def test_refused(probe: Probe, words: str, place: Path) -> None:
    place.write_text(json.dumps(probe.object))
    done = run(*words.split(), "--snapshot", str(SHOP))
    assert done.code == 2
    # What a cluster's own class makes of a priority is another number.
    assert all(text.partition("; priority admission")[0] in done.err for text in (*probe.refused, *probe.pods))


def test_all_of_them_are_tried() -> None:
    assert set(PROBES) <= {probe.what for probe in probes()}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("priorityClassName", "no PriorityClass with name gone was found"),
        ("runtimeClassName", 'pod rejected: RuntimeClass "gone" not found'),
    ],
)
@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_a_class_that_a_snapshot_without_classes_lacks(kind: str, field: str, text: str, place: Path) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    Path("nodes.json").write_text(json.dumps(node))
    obj = json.loads(json.dumps(BASES[kind]))
    spec = obj["spec"] if kind == "Pod" else obj["spec"]["template"]["spec"]
    spec[field] = "gone"
    place.write_text(json.dumps(obj))
    done = run("explain", "web.json", "--snapshot", "nodes.json")
    assert done.code == 2
    assert text in done.err
    assert ("the Deployment itself is accepted" in done.err) == (kind == "Deployment")


@pytest.mark.parametrize("words", ["explain", "diff --cordon node-1", "simulate"])
def test_what_is_warned_of_is_told_once(words: str, place: Path) -> None:
    obj = {**BASES["Pod"], "metadata": {"name": "web", "namespace": "shop"}}
    obj["spec"] = {**obj["spec"], "nodeSelector": {"beta.kubernetes.io/os": "linux"}}
    place.write_text(json.dumps(obj))
    done = run(*words.split(), "web.json", "--snapshot", str(SHOP))
    assert done.code in (0, 1), done.err
    assert done.err.count('deprecated since v1.14; use "kubernetes.io/os" instead') == 1


def workload(kind: str, name: str, number: int) -> dict[str, Any]:
    """A Deployment, StatefulSet or Job of a number of pods."""
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never" if kind == "Job" else "Always"},
    }
    count = (
        {"parallelism": number} if kind == "Job" else {"replicas": number, "selector": {"matchLabels": {"app": name}}}
    )
    version = "batch/v1" if kind == "Job" else "apps/v1"
    spec = {**count, "template": template}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": {"pods": "9"}}}


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("simulate -f many.json", 10**9),
        ("pending --apply many.json", 10**9),
        ("optimum --apply many.json", 10**9),
        ("drain a --apply many.json", 10**9),
        ("capacity shop/one --apply many.json", 10**9),
        ("rollout deploy/web -n shop --snapshot many.json", 10**9),
        ("rollout sts/db -n shop --snapshot many.json", 10**9),
        ("pending --snapshot few.json --set-replicas deploy/shop/web=1000000000", 10**9),
        ("pending --snapshot few.json --set-replicas sts/shop/db=10001", 10_001),
    ],
)
def test_more_pods_than_can_be_created_one_by_one(words: str, number: int, place: Path) -> None:
    one = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "shop"}}
    kinds = (("Deployment", "web"), ("StatefulSet", "db"), ("Job", "job"))
    for file, objects in {
        "nodes.json": [NODE, {**one, "spec": {"containers": [{"name": "c", "image": "i"}]}}],
        "many.json": [NODE, *(workload(kind, name, 10**9) for kind, name in kinds)],
        "few.json": [NODE, *(workload(kind, name, 1) for kind, name in kinds)],
    }.items():
        Path(file).write_text("".join(json.dumps(each) + "\n" for each in objects))
    done = run(*words.split(), *(() if "--snapshot" in words else ("--snapshot", "nodes.json")))
    assert done.code == 2, done.err
    assert f"{number:,} pods would be created one by one, and at most 10,000 can be" in done.err


def test_the_pods_of_all_workloads_count_together(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "MOST_MADE", 100)
    place.write_text("".join(json.dumps(workload("Job", name, 60)) + "\n" for name in ("a", "b")))
    done = run("simulate", "web.json", "--snapshot", str(SHOP))
    assert done.code == 2
    assert "Job shop/b: 120 pods would be created one by one, and at most 100 can be" in done.err
