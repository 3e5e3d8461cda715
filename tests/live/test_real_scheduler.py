"""Against a real API server and a real kube-scheduler: what they do is what we say."""

import gc
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.errors import ClusterError
from kschedctl.common.text.yaml_lines import LineReader
from kschedctl.questions.explain.explanation import Explained
from kschedctl.questions.provenance import Provenance
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.verify.answer import Match
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.sources.live.reader import LiveReader, load_live
from kschedctl.sources.snapshot.anonymize import anonymized
from kschedctl.sources.snapshot.capture import capture, write_capture
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import load_engine
from tests.live.conftest import OBJECTS, PODS, node, pod, wait_for
from tests.live.control_plane import ControlPlane

pytestmark = pytest.mark.live

PENDING = ["without-claim", "too-large", "too-large-and-urgent", "elsewhere", "gated"]
KINDS = "nodes,pods,namespaces,services,pv,pvc,storageclasses,csinodes,priorityclasses,pdb,replicasets,statefulsets"
SECRETS = ("environment-secret", "argument-secret", "command-secret", "annotation-secret", "content-of-a-secret")


def live(plane: ControlPlane, **options: Any) -> LiveContext:
    return LiveContext(kubeconfig=str(plane.kubeconfig), **options)


def load(plane: ControlPlane, **options: Any) -> LoadedCluster:
    return load_engine(live=live(plane, **options))


def answers(cluster: LoadedCluster) -> dict[str, Any]:
    """The explanation of every pod, without where the snapshot is from."""
    out = {}
    for index in range(len(cluster.pods)):
        found = cluster.pods.pod(index)
        if found.spec.scheduler_name != "default-scheduler":
            continue
        provenance = Provenance(
            release_choice=cluster.release_choice, paths=(), n_pods=len(cluster.pods), missing=cluster.missing(found)
        )
        data = Explained(cluster.decide(found.key), provenance).explanation().to_dict()
        data["snapshot"]["writtenAt"] = None
        out[found.key] = data
    return out


def command(*arguments: str, kubeconfig: Path) -> subprocess.CompletedProcess[str]:
    script = "import sys; sys.argv[0] = 'kschedctl'; from kschedctl.cli.main import run; run()"
    environment = {"KUBECONFIG": str(kubeconfig), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    done = [sys.executable, "-c", script, *arguments]
    return subprocess.run(done, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def captured(scheduled: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("captured") / "cluster.tar.gz"
    done = command("snapshot", "-o", str(path), kubeconfig=scheduled.kubeconfig)
    assert done.returncode == 0, done.stderr
    return path


def test_verify_finds_no_difference(scheduled: ControlPlane) -> None:
    cluster = load(scheduled)
    found = SchedulingCluster(cluster).verify()
    outcomes = {pod.key: each for each in found.pending_groups for pod in each.pods}
    for name in PENDING:
        each = outcomes[f"shop/{name}"]
        assert each.outcome is Match.EQUAL, (name, each)
    assert outcomes["shop/of-another"].outcome is Match.OTHER_SCHEDULER
    assert not found.infeasible_groups
    assert found.equal


def test_events_hold_our_messages(scheduled: ControlPlane) -> None:
    cluster = load(scheduled)
    events: dict[str, set[str]] = {}
    for event in scheduled.get("events"):
        if event["reason"] == "FailedScheduling":
            events.setdefault(event["involvedObject"]["name"], set()).add(event["message"])
    for name in set(PENDING) - {"gated"}:
        assert cluster.decide(f"shop/{name}").message in events[name]


def test_placements_are_among_our_best_nodes(scheduled: ControlPlane) -> None:
    """Pods one after the other, each decided before the real scheduler gets it."""
    scheduled.stop("kube-scheduler")
    for i, cpu in enumerate(("250m", "100m", "700m")):
        scheduled.create([pod(f"late-{i}", cpu=cpu, labels={"app": "late"})])
        best = load(scheduled).decide(f"shop/late-{i}").best
        scheduled.start_scheduler()
        wait_for(lambda: bool(_node_of(scheduled, f"late-{i}")), f"late-{i} to be bound")  # noqa: B023
        scheduled.stop("kube-scheduler")
        assert _node_of(scheduled, f"late-{i}") in best
    for i in range(3):
        scheduled.kubectl("delete", "pod", f"late-{i}", "-n", "shop", "--force", "--grace-period=0")
    scheduled.start_scheduler()


def _node_of(plane: ControlPlane, name: str) -> str:
    (found,) = plane.get("pods", f"--field-selector=metadata.name={name}")
    return str(found["spec"].get("nodeName", ""))


def test_live_captured_and_kubectl_get_give_the_same_answers(
    scheduled: ControlPlane, captured: Path, tmp_path: Path
) -> None:
    text = scheduled.kubectl("get", KINDS, "-A", "-o", "yaml", "--show-managed-fields")
    # The fast way to read YAML is meant for this.
    assert LineReader().document(text.encode())["kind"] == "List"
    (tmp_path / "cluster.yaml").write_text(text)
    (tmp_path / "version.json").write_text(scheduled.kubectl("version", "-o", "json"))
    from_live = answers(load(scheduled))
    assert len(from_live) == len(PODS) - 1
    assert answers(load_engine(captured)) == from_live
    assert answers(load_engine(tmp_path)) == from_live


def test_nothing_confidential_is_captured(captured: Path, tmp_path: Path) -> None:
    subprocess.run(["tar", "-xzf", str(captured), "-C", str(tmp_path)], check=True)
    text = "".join(path.read_text() for path in tmp_path.iterdir())
    assert [secret for secret in SECRETS if secret in text] == []
    assert '"fits"' in text


def test_anonymised_capture_verifies_too(scheduled: ControlPlane, tmp_path: Path) -> None:
    reader = LiveReader(live(scheduled))
    target = tmp_path / "anonymous"
    write_capture(anonymized(capture(reader, context=reader.name)), target)
    found = SchedulingCluster(load_engine(target)).verify()
    assert [(each.theirs, each.ours) for each in found.pending_groups if each.outcome is Match.DIFFERENT] == []
    assert found.equal
    original = SchedulingCluster(load(scheduled)).verify()
    assert found.pending == original.pending
    assert found.bound.feasible == original.bound.feasible
    text = "".join(path.read_text() for path in target.iterdir())
    names = [each["metadata"]["name"] for each in (*PODS, *OBJECTS)]
    names += ["red-1", "red-2", "blue-1", "registry.example.com", "shop", "by-hand", "urgent"]
    assert [name for name in names if f'"{name}"' in text] == []


@pytest.mark.parametrize("page_size", [1, 2, 1000])
def test_page_size_does_not_matter(scheduled: ControlPlane, page_size: int) -> None:
    found = list(LiveReader(live(scheduled, page_size=page_size)))
    names = sorted((type(obj).__name__, obj.namespace, obj.name) for obj, _ in found)
    assert names == sorted(set(names))
    assert {name for kind, _, name in names if kind == "Pod"} == {each["metadata"]["name"] for each in PODS}
    assert {name for kind, _, name in names if kind == "Node"} == {"red-1", "red-2", "blue-1"}


def test_user_without_rights_to_volumes_is_warned(scheduled: ControlPlane) -> None:
    _grant_all_but(scheduled, "persistentvolumes")
    done = command(
        "explain",
        "shop/with-claim",
        "--strict",
        f"--kubeconfig={scheduled.kubeconfig_nobody}",
        kubeconfig=Path("/none"),
    )
    assert done.returncode == 3
    # The width of the answer is that of the terminal.
    text = " ".join(done.stdout.split())
    assert text.startswith("Not known: persistentvolumes cannot be listed by this user. As far as is known: ")
    scheduled.kubectl("delete", "clusterrolebinding,clusterrole", "reader")


def test_user_without_rights_to_pods_is_told(scheduled: ControlPlane) -> None:
    _grant_all_but(scheduled, "pods")
    for question in (("explain",), ("explain", "shop/fits"), ("verify",)):
        done = command(*question, kubeconfig=scheduled.kubeconfig_nobody)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith("error: pods cannot be listed by this user, and the answer depends on them")
    scheduled.kubectl("delete", "clusterrolebinding,clusterrole", "reader")


def test_whoever_is_acted_as_has_the_rights(scheduled: ControlPlane, tmp_path: Path) -> None:
    """An admin who acts as nobody may do nothing, and everything in the group of admins."""
    config = json.loads(scheduled.kubeconfig.read_text())
    for groups, code in (([], 3), (["system:masters", "others"], 0)):
        config["users"][0]["user"] |= {"as": "nobody", "as-groups": groups}
        (tmp_path / "config").write_text(json.dumps(config))
        done = command("explain", "shop/fits", kubeconfig=tmp_path / "config")
        assert done.returncode == code, done.stderr
        assert ("pods cannot be listed by this user" in done.stderr) == (code == 3)


def test_user_without_any_rights_is_an_error(scheduled: ControlPlane) -> None:
    done = command("explain", "shop/fits", kubeconfig=scheduled.kubeconfig_nobody)
    assert done.returncode == 3
    assert "pods cannot be listed by this user, and the answer depends on them" in done.stderr


def _grant_all_but(plane: ControlPlane, resource: str) -> None:
    kinds = plane.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    rules = []
    for name in kinds:
        plural, _, group = name.partition(".")
        if plural != resource:
            rules.append({"apiGroups": [group], "resources": [plural], "verbs": ["list"]})
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "reader"}}
    subject = {"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    plane.create(
        [
            {**role, "kind": "ClusterRole", "rules": rules},
            {**role, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": reference},
        ]
    )


def test_victims_of_the_real_scheduler_are_ours(scheduled: ControlPlane) -> None:
    """A pod that evicts others: whom we name before is terminating after, and the wait is no difference."""
    scheduled.stop("kube-scheduler")
    scheduled.create([pod("evicts", cpu="3600m", priorityClassName="urgent")])
    decision = load(scheduled).decide("shop/evicts")
    assert decision.preemption is not None
    (candidate,) = [each for each in decision.preemption.candidates if not each.lost_at]
    victims = {decision.cluster.pods.key(victim.pod) for victim in candidate.victims}
    scheduled.start_scheduler()
    wait_for(lambda: bool(_status_of(scheduled, "evicts").get("nominatedNodeName")), "a nomination")
    terminating = [each["metadata"] for each in scheduled.get("pods") if "deletionTimestamp" in each["metadata"]]
    assert {f"{each['namespace']}/{each['name']}" for each in terminating} == victims
    assert _status_of(scheduled, "evicts")["nominatedNodeName"] == candidate.node
    cluster = load(scheduled)
    found = {pod.key: each for each in SchedulingCluster(cluster).verify().pending_groups for pod in each.pods}
    assert found["shop/evicts"].outcome is Match.NOMINATED
    # The others find the cluster as it was.
    scheduled.stop("kube-scheduler")
    scheduled.kubectl("delete", "pod", "evicts", "-n", "shop", "--force", "--grace-period=0")


def _status_of(plane: ControlPlane, name: str) -> dict[str, Any]:
    (found,) = plane.get("pods", f"--field-selector=metadata.name={name}")
    status: dict[str, Any] = found["status"]
    return status


# A socket that is cut off before its handshake is left to the garbage collector by the standard library.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_server_going_away_in_the_middle(
    tmp_path: Path, control_plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    """The first page of a list is there, the others never come."""
    # What is logged of the tries holds on to their sockets.
    caplog.set_level(logging.ERROR, logger="urllib3")
    folder = tmp_path / "plane"
    folder.mkdir()
    plane = ControlPlane(folder)
    try:
        plane.start()
        plane.create_nodes([node(f"n{i}", zone="z", cpu="1") for i in range(4)])

        def show(text: str) -> None:
            if "nodes" in text:
                plane.stop()

        problem = ""
        try:
            load_live(live(plane, page_size=1, show_progress=show))
        except ClusterError as error:
            problem = str(error)
        assert "cannot be reached" in problem
    finally:
        plane.stop()
    gc.collect()
