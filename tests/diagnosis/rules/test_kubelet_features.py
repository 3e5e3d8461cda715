"""Nodes whose kubelets do not declare the features that a pod needs."""

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from tests.builders import decide, make_cluster, make_container, make_node, make_pod
from tests.diagnosis.rules.cures import cures

RESTART = "RestartAllContainersOnContainerExits"
USERS = "UserNamespacesHostNetworkSupport"
BIND = "VolumeBindMountOptions"
RULES = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
FIELD = "action RestartAllContainers of restartPolicyRules in container c"
RESTARTING = make_pod(containers=[make_container(restartPolicy="Never", restartPolicyRules=RULES)])
MOUNT = {"name": "data", "mountPath": "/data", "bindMountOptions": ["noexec"]}


def kubelet(name: str, version: str, *declares: str, **fields: Any) -> Node:
    node = make_node(name, **fields)
    info = replace(node.status.node_info, kubelet_version=version)
    return replace(node, status=replace(node.status, node_info=info, declared_features=declares))


@pytest.mark.parametrize(
    ("pod", "nodes", "cause", "expected"),
    [
        pytest.param(
            RESTARTING,
            [kubelet("old", "v1.34.6"), kubelet("new", "v1.36.1", RESTART, taints=["gpu:NoSchedule"])],
            f"old (kubelet v1.34.6) does not declare the feature {RESTART}, which {FIELD} needs; new is tainted "
            "gpu:NoSchedule",
            [
                "upgrade the kubelet of old to v1.36.1, as on new",
                "tolerate gpu:NoSchedule, or remove the taint from node new",
                f"do without {FIELD}",
            ],
            id="another node declares it",
        ),
        pytest.param(
            RESTARTING,
            [kubelet("a", "v1.34.6"), kubelet("b", "v1.34.6")],
            f"a and b (kubelet v1.34.6) do not declare the feature {RESTART}, which {FIELD} needs",
            ["upgrade the kubelet of a to 1.36 or newer", f"do without {FIELD}"],
            id="no node declares it",
        ),
        pytest.param(
            RESTARTING,
            [kubelet("a", "v1.36.2")],
            f"a (kubelet v1.36.2) does not declare the feature {RESTART}, which {FIELD} needs",
            [f"enable the feature gate {RESTART} in the kubelet of a", f"do without {FIELD}"],
            id="its gate is off",
        ),
        pytest.param(
            make_pod(hostNetwork=True, hostUsers=False),
            [kubelet("a", "v1.34.6")],
            f"a (kubelet v1.34.6) does not declare the feature {USERS}, which hostUsers: false with hostNetwork: true "
            "needs",
            [
                f"upgrade the kubelet of a to 1.35 or newer, with the feature gate {USERS}",
                "do without hostUsers: false with hostNetwork: true",
            ],
            id="off by default in every release",
        ),
        pytest.param(
            make_pod(containers=[make_container(volumeMounts=[MOUNT])], volumes=[{"name": "data", "emptyDir": {}}]),
            [kubelet("a", "v1.36.1")],
            f"a (kubelet v1.36.1) does not declare the feature {BIND}, which bindMountOptions in container c needs",
            [
                f"upgrade the kubelet of a to 1.37 or newer, with the feature gate {BIND}",
                "do without bindMountOptions in container c",
            ],
            id="options of mounts",
        ),
        pytest.param(
            RESTARTING,
            [kubelet("old", "v1.34.6", taints=["gpu:NoSchedule"]), kubelet("new", "v1.36.1", RESTART, cpu="0", pods=0)],
            None,
            None,
            id="the pod could not go there either way",
        ),
    ],
)
def test_cause_and_cures(pod: Pod, nodes: list[Node], cause: str | None, expected: list[str] | None) -> None:
    decision = decide(pod, make_cluster(nodes), release=RELEASES["1.37"])
    found = diagnose(decision)
    if cause is None:
        assert all(one.rule != "undeclared-features" for one in found)
        return
    assert [one.cause for one in found] == [cause]
    assert cures(decision) == expected
