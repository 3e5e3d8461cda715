"""Extenders that bind, called over HTTP."""

from typing import Any

import pytest

from kschedctl.scheduler.extenders.http_extender import HTTPExtender
from kschedctl.scheduler.framework.config.types import ExtenderConfig, ExtenderManagedResource
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extender import Extender
from kschedctl.scheduler.framework.interface import BindPlugin, PostBindPlugin
from kschedctl.scheduler.framework.runtime import run_bind
from kschedctl.scheduler.framework.status import Code, Status
from tests.builders import GPU, make_cluster, make_node, make_pod
from tests.scheduler.extenders.server import Answer, ExtenderServer
from tests.scheduler.framework.plugins import make_framework, make_plugin

POD = make_pod("web")
BOUND = ["PostBind"]
BY_PLUGIN = ["Bind", "PostBind"]


def run(*extenders: Extender) -> tuple[Status, list[str], CycleState]:
    """Run a binding; return its status, the calls, and the cycle state."""
    log: list[str] = []

    def bind(*_: Any) -> Status:
        log.append("Bind")
        return Status()

    binder = make_plugin("A", BindPlugin, bind=bind)
    listener = make_plugin("B", PostBindPlugin, post_bind=lambda *_: log.append("PostBind"))
    framework = make_framework(make_cluster([make_node()]), binder, listener, extenders=extenders)
    state = CycleState()
    return run_bind(framework, state, POD, "node"), log, state


@pytest.mark.parametrize(
    ("answer", "config", "code", "message", "log", "is_asked"),
    [
        pytest.param({}, {}, Code.SUCCESS, "", BOUND, True, id="it binds"),
        pytest.param({"Error": "taken"}, {}, Code.ERROR, "taken", [], True, id="it fails"),
        pytest.param({"Error": "taken"}, {"ignorable": True}, Code.SUCCESS, "", BY_PLUGIN, True, id="and may"),
        pytest.param({}, {"bind_verb": ""}, Code.SUCCESS, "", BY_PLUGIN, False, id="it does not bind at all"),
        pytest.param(
            {},
            {"managed_resources": (ExtenderManagedResource(GPU),)},
            Code.SUCCESS,
            "",
            BY_PLUGIN,
            False,
            id="it is not interested",
        ),
        pytest.param({}, {"binds": False}, Code.SUCCESS, "", BOUND, False, id="it is not really told to"),
    ],
)
def test_who_binds(
    answer: Answer, config: dict[str, Any], code: Code, message: str, log: list[str], is_asked: bool
) -> None:
    binds = config.get("binds", True)
    given = {name: value for name, value in config.items() if name != "binds"}
    with ExtenderServer({"bind": answer}) as server:
        own = ExtenderConfig(**{"url_prefix": server.url, "bind_verb": "bind", **given})
        status, took_part, state = run(HTTPExtender(own, binds=binds))
    assert (status.code, status.message, took_part) == (code, message, log)
    assert bool(server.asked) == is_asked
    assert bool(state.not_modelled) == (is_asked and own.ignorable)
