"""Users with limited rights on a real API server: what they are told, live and from a snapshot that they saved."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.builders import load_engine
from tests.cli.in_process import Printed, run
from tests.live.conftest import node
from tests.live.control_plane import ControlPlane
from tests.paths import ROOT

pytestmark = pytest.mark.live

RBAC: Final = "rbac.authorization.k8s.io"
SPEC: Final = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
WEB: Final = {"app": "web"}
#: A Deployment with a budget that allows no eviction.
OBJECTS: Final[list[dict[str, Any]]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "rights"}},
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "rights"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": WEB}},
    },
    *(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "rights", "labels": labels},
            "spec": {**SPEC, **spec},
        }
        for name, labels, spec in (
            ("web", WEB, {"nodeName": "rights-1"}),
            ("waits", {}, {}),
            ("claims", {}, {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]}),
        )
    ),
]


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Return an API server with a node, a pod that runs there under a budget, and pods that wait; no scheduler runs."""
    control_plane.create_nodes([node("rights-1", zone="a", cpu="4"), node("rights-2", zone="a", cpu="4")])
    control_plane.create(OBJECTS)
    said = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available: so."}
    for name, status in (
        ("waits", {"conditions": [said]}),
        ("web", {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
    ):
        patch = ("patch", "pod", name, "-n", "rights", "--subresource=status", "--type=merge", "-p")
        control_plane.kubectl(*patch, json.dumps({"status": status}))
    yield control_plane
    control_plane.kubectl("delete", "pods", "--all", "-n", "rights", "--force", "--grace-period=0")
    control_plane.kubectl("delete", "pdb", "--all", "-n", "rights")
    control_plane.kubectl("delete", "node", "rights-1", "rights-2")
    # No controller may run that would remove the namespace.
    control_plane.kubectl("delete", "namespace", "rights", "--wait=false")


@pytest.fixture
def grant(plane: ControlPlane) -> Iterator[Any]:
    """Return a function that grants a role to user nobody, in a namespace or everywhere, until the end of the test."""
    bound: list[tuple[str, ...]] = []

    def to_nobody(role: str, namespace: str = "") -> None:
        kind, place = ("rolebinding", ("-n", namespace)) if namespace else ("clusterrolebinding", ())
        name = f"nobody-{role}"
        plane.kubectl("create", kind, name, f"--clusterrole={role}", "--user=nobody", *place)
        bound.append((kind, name, *place))

    yield to_nobody
    for each in bound:
        plane.kubectl("delete", *each)


def as_nobody(plane: ControlPlane, *arguments: str, folder: Path | None = None) -> Printed:
    return run(*arguments, "--kubeconfig", str(plane.kubeconfig_nobody), columns=1000, folder=folder)


def role(plane: ControlPlane, name: str, *resources: str) -> None:
    rules = [{"apiGroups": ["*"], "resources": list(resources), "verbs": ["list"]}]
    found = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
    plane.kubectl("apply", "-f", "-", given=found)


def test_budgets_that_cannot_be_listed_decide_about_a_drain(plane: ControlPlane, grant: Any, tmp_path: Path) -> None:
    role(plane, "nodes-and-pods", "nodes", "pods", "namespaces")
    grant("nodes-and-pods")
    metadata = {"name": "web", "namespace": "rights"}
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": metadata,
        "deleteOptions": {"dryRun": ["All"]},
    }
    (tmp_path / "eviction.json").write_text(json.dumps(eviction))
    path = "/api/v1/namespaces/rights/pods/web/eviction"
    plane.kubectl_fails("create", "--raw", path, "-f", str(tmp_path / "eviction.json"))
    command = ("drain", "rights-1", "--force")
    done = as_nobody(plane, *command, "--strict")
    assert done.code == 3
    told = "Not known: poddisruptionbudgets cannot be listed by this user. As far as is known: rights-1 can be drained"
    assert done.out.startswith(told)
    assert "permission is required: kubectl auth can-i list poddisruptionbudgets.policy -A; " in done.out
    # The command in the hint is one that kubectl accepts, and says no.
    can_i = ("auth", "can-i", "list", "poddisruptionbudgets.policy", "-A", "--as=nobody")
    assert plane.kubectl_fails(*can_i) == "no\n"
    # The snapshot that the user saves gives the same answer; that of the administrator has the budget.
    assert as_nobody(plane, "snapshot", "-o", "mine", folder=tmp_path).code == 0
    offline = run(*command, "--strict", "--snapshot", str(tmp_path / "mine"), columns=1000)
    assert (offline.code, offline.out.partition("\n")[0]) == (3, done.out.partition("\n")[0])
    known = run(*command, "--strict", "--kubeconfig", str(plane.kubeconfig), columns=1000)
    assert known.code == 1
    assert known.out.startswith("rights-1 cannot be drained: ")


def test_a_claim_that_cannot_be_listed_is_not_reported_as_missing(plane: ControlPlane, grant: Any) -> None:
    role(plane, "nodes-and-pods", "nodes", "pods", "namespaces")
    grant("nodes-and-pods")
    done = as_nobody(plane, "explain", "rights/claims", "--strict")
    assert done.code == 3
    assert done.out.startswith("Not known: persistentvolumes, persistentvolumeclaims, storageclasses and ")
    assert "not found" not in done.out
    assert "does not exist" not in done.out
    known = run("explain", "rights/claims", "--strict", "--kubeconfig", str(plane.kubeconfig), columns=1000)
    # The cluster has no claims at all, which is known as they were listed.
    assert known.code == 1
    assert "claim gone does not exist in namespace rights" in known.out


def test_a_user_with_one_namespace_gets_what_can_be_said(plane: ControlPlane, grant: Any, tmp_path: Path) -> None:
    role(plane, "everything", "*")
    grant("everything", "rights")
    done = as_nobody(plane, "pending", "-n", "rights", "--strict")
    assert done.code == 3
    pods = "pods outside namespace rights cannot be listed by this user. As far as is known:"
    assert done.out.startswith(f"Not known: nodes and {pods} 2 pods are pending.")
    assert "kube-scheduler itself says: 0/2 nodes are available: so." in done.out
    assert "kubectl auth can-i list nodes;" in done.out
    named = as_nobody(plane, "explain", "rights/waits")
    assert (named.code, named.out) == (3, "")
    assert "kube-scheduler itself says of rights/waits: 0/2 nodes are available: so." in named.err
    elsewhere = as_nobody(plane, "explain", "default/web")
    assert elsewhere.err.startswith("error: pods cannot be listed by this user")
    # With the permission to list nodes, the pods of the namespace are decided for.
    role(plane, "nodes-only", "nodes")
    grant("nodes-only")
    decided = as_nobody(plane, "explain", "rights/waits", "--strict")
    assert decided.code == 3
    assert decided.out.startswith(f"Not known: {pods} rights/waits fits on ")


def test_the_role_of_the_page_suffices(plane: ControlPlane, grant: Any, tmp_path: Path) -> None:
    (text,) = re.findall(
        r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "permissions.md").read_text(), re.MULTILINE | re.DOTALL
    )
    plane.kubectl("apply", "-f", "-", given=yaml.safe_load(text))
    grant("kschedctl-read")
    assert as_nobody(plane, "snapshot", "-o", "mine", folder=tmp_path).err.count("cannot be listed") == 0
    mine = load_engine(tmp_path / "mine").cluster
    assert mine.not_listed == frozenset()
    assert mine.listed.keys() >= {"Node", "Pod", "PodDisruptionBudget", "DeviceTaintRule"}
    assert as_nobody(plane, "drain", "rights-1", "--force", "--strict").code == 1
