"""The nodes that a DaemonSet leaves out, by cause, and the tolerations with which they get pods."""

from typing import Any

import pytest

from kschedctl.objects.workload import DaemonSet
from kschedctl.questions.explain.analysis import explain_daemon_set
from kschedctl.questions.explain.answer import DaemonSetExplanation
from kschedctl.questions.explain.document import daemon_set_document
from kschedctl.questions.explain.request import ExplainRequest
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.manifests import ObjectSubject
from tests.builders import make_cluster, make_loaded, make_node, make_object
from tests.questions.printing import lines

SPOT = ["spot=true:NoSchedule"]
CONTROL_PLANE = ["node-role.kubernetes.io/control-plane:NoSchedule"]
LEAVING = ["karpenter.sh/disrupted:NoSchedule"]
PREFERRED = ["spot:PreferNoSchedule"]
NVME = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
    {"key": "disk", "operator": "In", "values": ["nvme"]}]}]}}  # fmt: skip


def explained(nodes: list[Any], requests: dict[str, str] | None = None, **spec: Any) -> DaemonSetExplanation:
    container = {"name": "c", "image": "a:1", "resources": {"requests": requests or {}}}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [container], **spec}}
    own = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    daemon_set = make_object(DaemonSet, "agent", namespace="ops", spec=own)
    cluster = make_loaded(make_cluster([make_node("a", labels={"disk": "nvme"}), *nodes], [], daemon_set))
    _, pods = ObjectSubject(daemon_set, {}).pods(cluster)
    return explain_daemon_set(cluster, ExplainRequest(pod=tuple(pods)), AnalysisHandle())


@pytest.mark.parametrize(
    ("nodes", "spec", "first", "suggestions"),
    [
        pytest.param([make_node("b")], {}, "fits on 2 of 2 nodes.", [], id="all nodes"),
        pytest.param(
            [make_node("b", taints=SPOT), make_node("c", taints=SPOT)],
            {},
            "fits on 1 of 3 nodes; 2 are left out: b and c have the taint spot=true:NoSchedule, which the template "
            "does not tolerate.",
            [("tolerate spot=true:NoSchedule", "b and c get a pod each, which fits")],
            id="a taint",
        ),
        pytest.param(
            [make_node("b", taints=[*SPOT, "gpu:NoExecute"], cpu="1")],
            {"requests": {"cpu": "2"}},
            "fits on 1 of 2 nodes; 1 is left out: b has the taints spot=true:NoSchedule and gpu:NoExecute, which the "
            "template does not tolerate.",
            [
                (
                    "tolerate spot=true:NoSchedule and gpu:NoExecute",
                    "the pods fit on 0 of 1 node (b: its node b has 1 cpu in all, the pod wants 2 cpu)",
                )
            ],
            id="two taints of a node that is too small",
        ),
        pytest.param([make_node("b", taints=PREFERRED)], {}, "fits on 2 of 2 nodes.", [], id="a soft taint"),
        pytest.param(
            [make_node("b", taints=SPOT)],
            {"tolerations": [{"key": "spot", "operator": "Exists"}]},
            "fits on 2 of 2 nodes.",
            [],
            id="a tolerated taint",
        ),
        pytest.param([make_node("b", taints=CONTROL_PLANE)], {}, "fits on 1 of 1 node.", [], id="the control plane"),
        pytest.param(
            [make_node("b", taints=LEAVING)],
            {},
            "fits on 1 of 2 nodes; 1 is left out: b has the taint karpenter.sh/disrupted:NoSchedule, which the "
            "template does not tolerate.",
            [],
            id="a node that leaves",
        ),
        pytest.param(
            [make_node("b")],
            {"nodeSelector": {"disk": "nvme"}},
            "fits on 1 of 2 nodes; 1 is left out: b does not meet nodeSelector disk=nvme of the template.",
            [("if b should have a pod: change nodeSelector disk=nvme", "")],
            id="a node selector",
        ),
        pytest.param(
            [make_node("b", taints=SPOT)],
            {"affinity": {"nodeAffinity": NVME}},
            "fits on 1 of 2 nodes; 1 is left out: b has the taint spot=true:NoSchedule, which the template does not "
            "tolerate, and does not meet node affinity disk=nvme of the template.",
            [("if b should have a pod: change node affinity disk=nvme", "")],
            id="a taint and a node affinity",
        ),
    ],
)
def test_nodes_that_are_left_out(
    nodes: list[Any], spec: dict[str, Any], first: str, suggestions: list[tuple[str, str]]
) -> None:
    answer = explained(nodes, **spec)
    printed = lines(daemon_set_document(answer, View()), 400)
    assert printed[0] == f"DaemonSet ops/agent {first}"
    of = " in the template of DaemonSet ops/agent"
    assert [(each.summary, each.then) for each in answer.suggestions] == [(f"{a}{of}", then) for a, then in suggestions]
    assert answer.yes


def test_the_control_plane_is_a_quiet_clause() -> None:
    answer = explained([make_node("b", taints=CONTROL_PLANE)])
    told = f"left out: b has the taint {CONTROL_PLANE[0]}, which the template does not tolerate"
    assert told in "\n".join(lines(daemon_set_document(answer, View()), 400))


def test_the_command_adds_a_toleration() -> None:
    value = '{"key": "spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"}'
    command = 'kubectl patch daemonset agent -n ops --type=json -p \'[{"op": "add", "path": "/spec/template/spec/'
    (cure,) = explained([make_node("b", taints=SPOT)]).suggestions
    assert cure.commands == (f'{command}tolerations", "value": [{value}]}}]\'',)
    (cure,) = explained([make_node("b", taints=SPOT)], tolerations=[{"key": "x", "operator": "Exists"}]).suggestions
    assert cure.commands == (f'{command}tolerations/-", "value": {value}}}]\'',)
