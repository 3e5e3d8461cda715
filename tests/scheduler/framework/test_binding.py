from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.binding import run_bind, run_permit, run_pre_bind, run_reserve
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import (
    MAX_PERMIT_SECONDS,
    BindPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
)
from kschedctl.scheduler.framework.status import SKIP, Code, Status
from tests.builders import make_cluster, make_node, make_pod
from tests.scheduler.framework.plugins import make_framework, make_plugin

POD = make_pod("web")
NO = Status(Code.UNSCHEDULABLE, ("no",))
BROKEN = Status(Code.ERROR, ("out of order",))


class Log(list[str]):
    """The calls of plugins, in order."""

    def plugin(self, name: str, *bases: type[Plugin], **answers: Any) -> type[Plugin]:
        """Return a plugin whose method calls are logged and return these answers."""

        def logged(method: str, answer: Any) -> Any:
            def call(plugin: Plugin, state: CycleState, pod: Pod, node_name: str) -> Any:
                self.append(f"{name}.{method}")
                return answer

            return call

        return make_plugin(name, *bases, **{method: logged(method, answer) for method, answer in answers.items()})

    def reserving(self, name: str, status: Status) -> type[Plugin]:
        return self.plugin(name, ReservePlugin, reserve=status, unreserve=None)


@pytest.fixture
def log() -> Log:
    return Log()


def run(step: Any, *plugins: type[Plugin]) -> Any:
    framework = make_framework(make_cluster([make_node()]), *plugins)
    return step(framework, CycleState(), POD, "node")


def test_reserve_asks_all(log: Log) -> None:
    assert run(run_reserve, log.reserving("A", Status()), log.reserving("B", Status())) == Status()
    assert log == ["A.reserve", "B.reserve"]


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        pytest.param(NO, Status(Code.UNSCHEDULABLE, ("no",), "B"), id="a refusal"),
        pytest.param(BROKEN, Status(Code.ERROR, ('running Reserve plugin "B": out of order',), "B"), id="an error"),
    ],
)
def test_where_reserve_fails_all_give_back_the_last_first(failure: Status, status: Status, log: Log) -> None:
    plugins = [log.reserving("A", Status()), log.reserving("B", failure), log.reserving("C", Status())]
    assert run(run_reserve, *plugins) == status
    assert log == ["A.reserve", "B.reserve", "C.unreserve", "B.unreserve", "A.unreserve"]


def permitting(log: Log, name: str, status: Status, seconds: float = 0) -> type[Plugin]:
    return log.plugin(name, PermitPlugin, permit=(status, seconds))


WAIT = Status(Code.WAIT)


def test_permit_lets_a_pod_wait_for_those_that_ask(log: Log) -> None:
    plugins = [permitting(log, "A", WAIT, 5), permitting(log, "B", Status()), permitting(log, "C", WAIT, 10**9)]
    status, waits = run(run_permit, *plugins)
    text = "one or more plugins asked to wait and no plugin rejected pod"
    assert status == Status(Code.WAIT, (text,))
    assert waits == {"A": 5, "C": MAX_PERMIT_SECONDS}


def test_a_refusal_of_permit_ends_the_waiting(log: Log) -> None:
    plugins = [permitting(log, "A", WAIT, 5), permitting(log, "B", NO), permitting(log, "C", Status())]
    assert run(run_permit, *plugins) == (Status(Code.UNSCHEDULABLE, ("no",), "B"), {})
    assert log == ["A.permit", "B.permit"]


def test_the_first_failure_of_pre_bind_ends_it(log: Log) -> None:
    plugins = [log.plugin("A", PreBindPlugin, pre_bind=BROKEN), log.plugin("B", PreBindPlugin, pre_bind=Status())]
    assert run(run_pre_bind, *plugins) == Status(Code.ERROR, ('running PreBind plugin "A": out of order',), "A")
    assert log == ["A.pre_bind"]


def binding(log: Log, name: str, status: Status) -> type[Plugin]:
    return log.plugin(name, BindPlugin, PostBindPlugin, bind=status, post_bind=None)


def test_the_first_that_does_not_skip_binds_and_all_are_told(log: Log) -> None:
    plugins = [binding(log, "A", SKIP), binding(log, "B", Status()), binding(log, "C", Status())]
    assert run(run_bind, *plugins) == Status()
    assert log == ["A.bind", "B.bind", "A.post_bind", "B.post_bind", "C.post_bind"]


def test_nobody_is_told_of_a_binding_that_failed(log: Log) -> None:
    assert run(run_bind, binding(log, "A", NO)) == Status(Code.UNSCHEDULABLE, ("no",), "A")
    assert log == ["A.bind"]


def test_nobody_binds(log: Log) -> None:
    assert run(run_bind, binding(log, "A", SKIP)) == SKIP
