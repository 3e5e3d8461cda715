"""Simulations with an extender that is called over HTTP."""

from typing import Any

from kschedctl.trials.simulate.simulation import Simulation
from tests.builders import make_node, make_pod
from tests.scheduler.extenders.scheduling import make_scheduler
from tests.scheduler.extenders.server import ExtenderServer


def test_a_pod_that_an_extender_turned_away_is_tried_again_after_any_event() -> None:
    """The extender rejects the second pod until the first pod is placed."""
    taken: list[str] = []

    def answer(about: Any) -> Any:
        name = about["Pod"]["metadata"]["name"]
        if name == "second" and not taken:
            return {"FailedNodes": {"node": "not before the first"}}
        taken.append(name)
        return {"NodeNames": about["NodeNames"]}

    with ExtenderServer({"filter": answer}) as server:
        own = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
        simulation = Simulation(make_scheduler([make_node()], own))
        simulation.create([make_pod("second"), make_pod("first")])
        attempts = [(each.pod, each.node, each.message) for each in simulation]
    refused = "0/1 nodes are available: 1 not before the first."
    no_help = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert attempts == [
        ("default/second", "", f"{refused} {no_help}"),
        ("default/first", "node", ""),
        ("default/second", "node", ""),
    ]


def test_pods_are_not_placed_together_where_extenders_have_a_say() -> None:
    with ExtenderServer({"filter": lambda about: {"NodeNames": about["NodeNames"]}}) as server:
        own = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
        simulation = Simulation(make_scheduler([make_node("a"), make_node("b")], own))
        simulation.create([make_pod(f"web-{i}") for i in range(3)])
        placed = [attempt.node for attempt in simulation]
        assert all(asked.about["NodeNames"] == ["a", "b"] for asked in server.asked)
    assert (len(placed), len(server.asked)) == (3, 3)
