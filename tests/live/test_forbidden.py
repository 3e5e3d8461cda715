"""Kinds that a user is not allowed to list are named, and no answer that depends on them is reported as complete."""

import json
from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.errors import ClusterError
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.builders import load_engine
from tests.cli import in_process
from tests.cli.in_process import Printed
from tests.live.plain_server import Answer, discovery, serving

SPEC = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
VOLUMES = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
STORED = {"priority": 0, "schedulerName": "default-scheduler"}


def named(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, **fields}


OBJECTS: dict[str, list[dict[str, Any]]] = {
    "nodes": [{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}],
    "pods": [
        named("waits", spec={**SPEC, **STORED}),
        named("claims", spec={**SPEC, **STORED, "volumes": VOLUMES}),
        named("devices", spec={**SPEC, **STORED, "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}),
        named(
            "extended",
            spec={**STORED, "containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]},
        ),
        named("large", spec={**STORED, "containers": [{"name": "c", "resources": {"requests": {"cpu": "64"}}}]}),
    ],
    "persistentvolumeclaims": [named("data", spec={"volumeName": "pv"}, status={"phase": "Bound"})],
    "persistentvolumes": [{"metadata": {"name": "pv"}, "spec": {"claimRef": {"name": "data", "namespace": "default"}}}],
    "namespaces": [{"metadata": {"name": "default"}}],
    "resourceclaims": [
        named("gpu", spec={"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}})
    ],
    "deviceclasses": [{"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}}],
    "resourceslices": [
        {
            "metadata": {"name": "n-gpus"},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": "n",
                "pool": {"name": "n", "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0"}],
            },
        }
    ],
    "services": [],
    "limitranges": [],
}
KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "persistentvolumes": "PersistentVolume",
    "namespaces": "Namespace",
    "services": "Service",
    "limitranges": "LimitRange",
}
DEVICE_KINDS = {"resourceclaims": "ResourceClaim", "deviceclasses": "DeviceClass", "resourceslices": "ResourceSlice"}


def answer(*forbidden: str) -> Any:
    """Return a server on which a user may list everything else."""

    def of(path: str, _: dict[str, str]) -> tuple[int, Any]:
        plural = path.rpartition("/")[2]
        if path == "/api":
            return 200, discovery([("", [("v1", list(KINDS.items()))])])
        if path == "/apis":
            budgets = ("policy", [("v1", [("poddisruptionbudgets", "PodDisruptionBudget")])])
            devices = ("resource.k8s.io", [("v1", list(DEVICE_KINDS.items()))])
            jobs = ("batch", [("v1", [("jobs", "Job")])])
            return 200, discovery([budgets, devices, jobs])
        if plural in forbidden:
            return 403, {"message": f"{plural} is forbidden"}
        return (200, {"items": OBJECTS[plural]}) if plural in OBJECTS else (0, None)

    return of


def run(folder: Path, forbidden: str, *arguments: str) -> Printed:
    """Run a command as a user who is not allowed to list some kinds."""
    (folder / "pod.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **named("new", spec=SPEC)}))
    with serving(answer(*forbidden.split()), folder) as (live, _):
        return in_process.run(*arguments, "--kubeconfig", live.kubeconfig, columns=500, folder=folder)


PODS = "pods cannot be listed by this user"
#: The resources for ``kubectl auth can-i`` of the groups other than the core group.
RESOURCES = {
    "resourceslices": "resourceslices.resource.k8s.io",
    "resourceclaims": "resourceclaims.resource.k8s.io -A",
    "deviceclasses": "deviceclasses.resource.k8s.io",
}


@pytest.mark.parametrize(
    ("forbidden", "command"),
    [
        ("pods", "explain"),
        ("pods", "explain -A"),
        ("pods", "explain -l app=web"),
        ("pods", "explain default/waits"),
        ("pods", "preempt default/waits"),
        ("pods", "preempt --victim default/waits"),
        ("pods", "diff -A --against-version 1.34"),
        ("pods", "diff default/waits --against-version 1.34"),
        ("pods", "verify"),
        ("pods", "volumes pod/waits"),
        ("persistentvolumeclaims", "volumes"),
        ("persistentvolumeclaims", "volumes data"),
        ("resourceslices", "devices"),
        ("resourceclaims", "devices claim/gpu"),
        ("deviceclasses", "devices class/gpu"),
    ],
)
def test_question_about_what_may_not_be_listed(tmp_path: Path, forbidden: str, command: str) -> None:
    done = run(tmp_path, forbidden, *command.split())
    assert (done.code, done.out) == (3, "")
    assert done.err == (
        f"error: {forbidden} cannot be listed by this user, and the answer depends on them\n"
        f"  permission is required: kubectl auth can-i list {RESOURCES.get(forbidden, f'{forbidden} -A')}; "
        "docs/permissions.md has a role with all permissions\n"
    )


@pytest.mark.parametrize(
    ("forbidden", "command", "code", "strict"),
    [
        ("pods", "explain -f pod.yaml", 0, 3),
        ("pods", "diff -f pod.yaml --against-version 1.34", 0, 3),
        ("limitranges", "explain -f pod.yaml", 0, 3),
        ("limitranges", "explain default/waits", 0, 0),
        ("persistentvolumes", "explain default/claims", 0, 3),
        ("persistentvolumes", "explain default/waits", 0, 0),
        ("persistentvolumes", "verify", 0, 3),
        ("persistentvolumes", "volumes data", 0, 3),
        ("resourceslices", "explain default/devices", 0, 3),
        ("resourceclaims", "explain default/devices", 0, 3),
        ("deviceclasses", "explain default/devices", 0, 3),
        ("deviceclasses", "explain default/waits", 0, 0),
        ("deviceclasses", "explain default/extended", 1, 3),
        ("resourceslices", "explain default/extended", 1, 3),
        ("resourceslices", "devices gpu", 1, 3),
        ("resourceclaims", "devices class/gpu", 0, 3),
        ("resourceclaims", "devices", 0, 3),
        ("services", "explain default/waits", 0, 0),
        ("namespaces", "explain default/waits", 0, 0),
        ("jobs", "explain default/waits", 0, 0),
        ("poddisruptionbudgets", "explain default/waits", 0, 0),
        ("poddisruptionbudgets", "preempt default/large", 1, 0),
        ("poddisruptionbudgets", "preempt --victim default/waits", 0, 3),
        ("jobs", "verify", 0, 0),
    ],
)
def test_answer_that_may_depend_on_it(tmp_path: Path, forbidden: str, command: str, code: int, strict: int) -> None:
    """The kind is in the first line if it decides, else in a warning; with ``--strict`` the exit code shows it."""
    done = run(tmp_path, forbidden, *command.split())
    assert done.code == code, done.err
    told = f"{forbidden} cannot be listed by this user"
    if strict == 3:
        assert done.out.startswith(f"Not known: {told}. As far as is known: ")
        assert f"not known: {told}: " in done.out
    else:
        assert f"warning: {told}, but the answer does not depend on them" in done.out
    assert run(tmp_path, forbidden, *command.split(), "--strict").code == (strict or code)


def test_leader_needs_only_leases(tmp_path: Path) -> None:
    """Without nodes and pods a holder is shown by its identity; other commands still need the nodes."""
    spec = {"holderIdentity": "cp-1_6f1d", "leaseDurationSeconds": 15, "renewTime": "2125-05-04T12:00:00Z"}
    lease = {"metadata": {"name": "kube-scheduler", "namespace": "kube-system"}, "spec": spec}
    others = answer("nodes", "pods")

    def of(path: str, query: dict[str, str]) -> tuple[int, Any]:
        if path == "/apis":
            return 200, discovery([("coordination.k8s.io", [("v1", [("leases", "Lease")])])])
        return (200, {"items": [lease]}) if path.endswith("/leases") else others(path, query)

    with serving(of, tmp_path) as (live, _):
        done = in_process.run("leader", "--kubeconfig", live.kubeconfig, "-o", "name", columns=500, folder=tmp_path)
        refused = in_process.run("pending", "--kubeconfig", live.kubeconfig, columns=500, folder=tmp_path)
    assert (done.out, done.code) == ("kube-system/kube-scheduler cp-1_6f1d\n", 0)
    assert "pods cannot be listed by this user, and the answer depends on them" in refused.err


def test_data_say_what_is_missing(tmp_path: Path) -> None:
    done = run(tmp_path, "pods", "explain", "-f", "pod.yaml", "-o", "json")
    data = json.loads(done.out)
    assert data["warnings"] == []
    assert [(lack["kind"], lack["neededFor"]) for lack in data["missing"]] == [("Pod", PODS)]


def test_captured_snapshot_remembers(tmp_path: Path) -> None:
    done = run(tmp_path, "pods", "snapshot", "-o", "captured")
    assert done.code == 0, done.err
    assert f"warning: {PODS}: they take no capacity on nodes" in done.err
    cluster = load_engine(tmp_path / "captured")
    for ask in (
        SchedulingCluster(cluster).verify,
        lambda: cluster.decide("default/waits"),
        lambda: SchedulingCluster(cluster).threat("default/waits"),
    ):
        with pytest.raises(ClusterError, match=PODS):
            ask()


def test_everything_allowed_is_complete(tmp_path: Path) -> None:
    assert run(tmp_path, "", "explain", "default/waits", "--strict").code == 0


def test_a_kind_that_was_listed_and_is_empty_is_known(tmp_path: Path) -> None:
    """Also one that the server does not serve: the cluster has no claims and no ResourceClaims at all."""
    others = answer()

    def of(path: str, query: dict[str, str]) -> tuple[int, Any]:
        if path == "/apis":
            return 200, discovery([])
        return (200, {"items": []}) if path.endswith("/persistentvolumeclaims") else others(path, query)

    for name, cause in (
        ("claims", "the snapshot has no claims at all"),
        ("devices", 'could not find ResourceClaim "default/gpu"'),
    ):
        with serving(of, tmp_path) as (live, _):
            done = in_process.run("explain", name, "--strict", "--kubeconfig", live.kubeconfig, columns=500)
        assert done.code == 1, done
        assert cause in done.out
        assert "not in the snapshot" not in done.out


def test_one_namespace_is_listed_where_the_others_cannot_be(tmp_path: Path) -> None:
    """The namespace is that of ``-n``, of the name of a pod, or of the context."""
    others: Answer = answer()

    def of(path: str, query: dict[str, str]) -> tuple[int, Any]:
        plural = path.rpartition("/")[2]
        if path.startswith("/api/v1/namespaces/default/"):
            return others(f"/api/v1/{plural}", query)
        return (403, {"message": "no"}) if plural in OBJECTS and plural != "nodes" else others(path, query)

    for command in ("explain waits", "explain waits -n default", "explain default/waits"):
        with serving(of, tmp_path) as (live, asked):
            done = in_process.run(*command.split(), "--strict", "--kubeconfig", live.kubeconfig, columns=500)
        assert done.code == 3, done
        assert done.out.startswith("Not known: pods outside namespace default cannot be listed by this user. ")
        assert "/api/v1/namespaces/default/pods" in {each.partition("?")[0] for each in asked}
        assert not any("namespaces/default/nodes" in each for each in asked)
    with serving(of, tmp_path) as (live, asked):
        done = in_process.run("explain", "shop/waits", "--kubeconfig", live.kubeconfig, columns=500)
    assert "/api/v1/namespaces/shop/pods" in {each.partition("?")[0] for each in asked}
    assert done.code in (2, 3)
