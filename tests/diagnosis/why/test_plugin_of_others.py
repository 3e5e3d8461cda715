"""A plugin of another package proposes what could cure its reason, as in docs/plugins.md."""

from collections.abc import Iterator

import numpy as np

from kschedctl.cluster.overlay import Overlay
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import FilterPlugin
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext, add_operation
from kschedctl.scheduler.framework.status import Code, Reason, Rejections
from tests.builders import decide, make_cluster, make_node, make_pod

KEY = "example.com/licensed"


class NotLicensed(Operands, frozen=True):
    def words(self) -> str:
        return "the node has no license"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        node = context.node.name
        yield context.node_patch(
            f"license node {node}",
            add_operation("yes", "metadata", "labels", KEY),
            family="license",
            command=f"label node {node} {KEY}=yes",
        )
        yield context.node_patch(
            f"wish for a license on node {node}",
            add_operation("perhaps", "metadata", "labels", KEY),
            family="wish",
            command=f"label node {node} {KEY}=perhaps",
        )


class Licensed(FilterPlugin):
    name = "Licensed"

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        objects = self.handle.cluster.nodes.objects
        without = np.array([objects[row].metadata.labels.get(KEY) != "yes" for row in nodes.rows], dtype=np.bool_)
        return Rejections.where(
            without, Code.UNSCHEDULABLE, "no license", lambda _: (Reason("no license", NotLicensed()),)
        )


def test_what_helps_is_told_and_what_does_not_is_not() -> None:
    profile = {"schedulerName": "default-scheduler", "plugins": {"filter": {"enabled": [{"name": "Licensed"}]}}}
    config = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
    cluster = make_cluster([make_node("a")])
    decision = decide(make_pod(), cluster, config=config, plugins={"Licensed": Licensed})
    (found,) = suggest(decision).suggestions
    assert (found.summary, found.nodes) == ("license node a", ("a",))
    assert found.remedies[0].command == f"kubectl label node a {KEY}=yes"
