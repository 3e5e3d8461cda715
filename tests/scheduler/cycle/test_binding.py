"""The binding cycle with plugins that refuse, wait and listen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.binding import Binding, bind
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PermitPlugin, Plugin, PostBindPlugin, PreBindPlugin, ReservePlugin
from kschedctl.scheduler.framework.status import Code, Status
from tests.builders import decide, make_cluster, make_node, make_pod, make_profile


class Logger(ReservePlugin, PostBindPlugin):
    name = "Logger"
    log: ClassVar[list[str]] = []

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self.log.append(f"reserve {node_name}")
        return Status()

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self.log.append(f"unreserve {node_name}")

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self.log.append(f"bound {node_name}")


class Gate(PermitPlugin):
    name = "Gate"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        match pod.metadata.labels.get("gate"):
            case "wait":
                return Status(Code.WAIT), 3600.0
            case "closed":
                return Status(Code.UNSCHEDULABLE, ("the gate is closed",)), 0.0
            case _:
                return Status(), 0.0


class Broken(PreBindPlugin):
    name = "Broken"

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return Status(Code.ERROR, ("no disk",)) if "broken" in pod.metadata.labels else Status()


PLUGINS: Mapping[str, type[Plugin]] = {plugin.name: plugin for plugin in (Logger, Gate, Broken)}


def run(**labels: str) -> tuple[Binding, list[str]]:
    Logger.log.clear()
    config = make_profile(plugins={"multiPoint": {"enabled": [{"name": name} for name in PLUGINS]}})
    decision = decide(make_pod(labels=labels), make_cluster([make_node("a")]), config=config, plugins=PLUGINS)
    return bind(decision, "a"), list(Logger.log)


@pytest.mark.parametrize(
    ("labels", "status", "log"),
    [
        pytest.param({}, Status(), ["reserve a", "bound a"], id="bound"),
        pytest.param(
            {"gate": "closed"},
            Status(Code.UNSCHEDULABLE, ("the gate is closed",), "Gate"),
            ["reserve a", "unreserve a"],
            id="a refusal gives back what was reserved",
        ),
        pytest.param(
            {"broken": "yes"},
            Status(Code.ERROR, ('running PreBind plugin "Broken": no disk',), "Broken"),
            ["reserve a", "unreserve a"],
            id="an error names plugin and extension point",
        ),
        pytest.param(
            {"gate": "wait"},
            Status(Code.WAIT, ("one or more plugins asked to wait and no plugin rejected pod",)),
            ["reserve a"],
            id="a pod that waits keeps what is reserved",
        ),
    ],
)
def test_binding(labels: dict[str, str], status: Status, log: list[str]) -> None:
    binding, logged = run(**labels)
    assert binding.status == status
    assert logged == log


def test_no_plugin_lets_a_pod_wait_for_longer_than_a_quarter_of_an_hour() -> None:
    assert run(gate="wait")[0].waits == {"Gate": 900.0}
