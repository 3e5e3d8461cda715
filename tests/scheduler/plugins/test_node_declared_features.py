from typing import Any

import pytest

from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.node_declared_features import UndeclaredFeatures
from tests.builders import decide, make_cluster, make_container, make_node, make_pod, reason, said, told

PLUGIN = "NodeDeclaredFeatures"
LACKING = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match Pod's required features",))
RESTART = "RestartAllContainersOnContainerExits"
USERNS = "UserNamespacesHostNetworkSupport"
RESTARTING = make_container(restartPolicyRules=[{"action": "RestartAllContainers"}])


@pytest.mark.parametrize(
    ("spec", "declared", "expected"),
    [
        pytest.param({}, [], Status(), id="a plain pod needs nothing"),
        pytest.param({"containers": [RESTARTING]}, [], LACKING, id="restarting all containers must be declared"),
        pytest.param({"containers": [RESTARTING]}, [RESTART, USERNS], Status(), id="and is"),
        pytest.param({"initContainers": [RESTARTING]}, [], LACKING, id="also where an init container asks for it"),
        pytest.param({"hostNetwork": True, "hostUsers": False}, [], LACKING, id="user namespaces on the host network"),
        pytest.param({"hostNetwork": True, "hostUsers": False}, [USERNS], Status(), id="where declared"),
        pytest.param({"hostNetwork": True}, [], Status(), id="the host's users need nothing"),
        pytest.param({"hostUsers": False}, [], Status(), id="user namespaces without host network need nothing"),
    ],
)
def test_needs(spec: dict[str, Any], declared: list[str], expected: Status) -> None:
    cluster = make_cluster([make_node(declaredFeatures=declared)])
    assert said(decide(make_pod(**spec), cluster), PLUGIN) == expected


@pytest.mark.parametrize(("version", "expected"), [("1.36", Status()), ("1.37", LACKING)])
@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_bind_mount_options_are_a_feature_from_1_37_on(field: str, version: str, expected: Status) -> None:
    mounting = make_container(volumeMounts=[{"name": "data"}, {"name": "more", "bindMountOptions": ["noexec"]}])
    spec: dict[str, Any] = {"containers": [make_container()], field: [mounting]}
    pod = make_pod(**spec)
    assert said(decide(pod, make_cluster([make_node()]), release=RELEASES[version]), PLUGIN) == expected
    declaring = make_cluster([make_node(declaredFeatures=["VolumeBindMountOptions"])])
    assert said(decide(pod, declaring, release=RELEASES[version]), PLUGIN) == Status()


def certified(key_type: str) -> dict[str, Any]:
    """Return a pod's volume with a certificate, in manifest form."""
    source = {"podCertificate": {"signerName": "example.com/signer", "keyType": key_type}}
    return {"volumes": [{"name": "identity", "projected": {"sources": [source]}}]}


OCI = {"seccompProfile": {"type": "OCI"}}
MLDSA, SECCOMP = "PodCertificateMLDSA", "SecurityProfileOCI"


@pytest.mark.parametrize(
    ("spec", "feature", "new"),
    [
        pytest.param(certified("MLDSA44"), MLDSA, LACKING, id="a certificate with MLDSA44"),
        pytest.param(certified("MLDSA65"), MLDSA, LACKING, id="with MLDSA65"),
        pytest.param(certified("MLDSA87"), MLDSA, LACKING, id="with MLDSA87"),
        pytest.param(certified("ED25519"), MLDSA, Status(), id="other keys need nothing"),
        pytest.param({"securityContext": OCI}, SECCOMP, LACKING, id="a seccomp profile of the pod"),
        pytest.param({"containers": [make_container(securityContext=OCI)]}, SECCOMP, LACKING, id="of a container"),
        pytest.param({"initContainers": [make_container(securityContext=OCI)]}, SECCOMP, LACKING, id="of an init one"),
        pytest.param(
            {"ephemeralContainers": [{"name": "debug", "securityContext": OCI}]}, SECCOMP, LACKING, id="of a debug one"
        ),
        pytest.param(
            {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
            SECCOMP,
            Status(),
            id="other profiles need nothing",
        ),
    ],
)
def test_features_that_1_38_adds(spec: dict[str, Any], feature: str, new: Status) -> None:
    """1.37 schedules such pods anywhere, 1.38 where the node declares the feature."""
    pod = make_pod(**spec)
    lacking, declaring = make_cluster([make_node()]), make_cluster([make_node(declaredFeatures=[feature])])
    for version, expected in (("1.37", Status()), ("1.38", new)):
        assert said(decide(pod, lacking, release=RELEASES[version]), PLUGIN) == expected
        assert said(decide(pod, declaring, release=RELEASES[version]), PLUGIN) == Status()


def test_detail_names_what_is_missing() -> None:
    pod = make_pod(containers=[RESTARTING], hostNetwork=True, hostUsers=False)
    found = reason(decide(pod, make_cluster([make_node(declaredFeatures=[USERNS])])), PLUGIN)
    assert found.detail == f"node does not declare {RESTART}"
    assert found.operands == UndeclaredFeatures((RESTART,))


@pytest.mark.parametrize("version", ["1.34", "1.35"])
def test_releases_without_the_gate_do_not_ask(version: str) -> None:
    cluster = make_cluster([make_node()])
    assert decide(make_pod(containers=[RESTARTING]), cluster, release=RELEASES[version]).schedulable


def test_the_gate_brings_the_plugin() -> None:
    release = RELEASES["1.35"].with_features({PLUGIN: True})
    decision = decide(make_pod(containers=[RESTARTING]), make_cluster([make_node()]), release=release)
    assert said(decision, PLUGIN) == LACKING


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            UndeclaredFeatures((RESTART,)), f"node does not declare {RESTART}", {"missing": (RESTART,)}, id="one"
        ),
        pytest.param(
            UndeclaredFeatures((RESTART, USERNS)),
            f"node does not declare {RESTART}, {USERNS}",
            {"missing": (RESTART, USERNS)},
            id="two",
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
