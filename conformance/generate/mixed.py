"""All themes combined, each in a gentle form, so that several plugins affect one pod."""

from collections.abc import Callable
from typing import Final

from conformance.generate.chance import MI
from conformance.generate.config import configure
from conformance.generate.devices import one_kind
from conformance.generate.dra import claims
from conformance.generate.features import declared
from conformance.generate.images import images
from conformance.generate.interpod import interpod
from conformance.generate.nodeaffinity import nodeaffinity
from conformance.generate.ports import ports
from conformance.generate.preemption import budgets, fill_nodes
from conformance.generate.resources import resources
from conformance.generate.scene import Scene
from conformance.generate.spread import spread
from conformance.generate.taints import taints
from conformance.generate.volumes import volumes

_FEATURES: Final[tuple[tuple[float, Callable[[Scene], None]], ...]] = (
    (0.6, resources), (0.5, taints), (0.5, nodeaffinity), (0.25, ports), (0.5, spread), (0.5, interpod),
    (0.25, volumes), (0.5, images), (0.12, claims),
)  # fmt: skip


def mixed(s: Scene) -> None:
    """Add features by their probability; seldom preemption, a configuration, gates, or an empty cluster."""
    if s.odds(0.01):
        s.nodes, s.pods = [], []
        return
    chosen = [feature for chance, feature in _FEATURES if s.odds(chance)]
    if s.odds(0.25):
        s.pod["spec"]["priority"] = s.pick(10, 100, 1000)
        chosen = [_full, *(feature for feature in chosen if feature is not resources)]
    for feature in chosen:
        feature(s)
    if s.odds(0.15):
        configure(s)
    if claims not in chosen and s.odds(0.08):
        one_kind(s)
    elif s.odds(0.1):
        declared(s)
    if s.odds(0.04):
        gates = s.some(("example.com/quota", "example.com/ready"), 1, 2)
        s.pod["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]


def _full(s: Scene) -> None:
    s.pods = s.pods[:5]
    want = s.pick(500, 1000)
    fill_nodes(s, (-10, 0, 10, 100), want)
    s.pod["spec"] |= {"containers": [s.container(cpu=want, memory=128 * MI)], "priority": s.pick(0, 50, 1000)}
    budgets(s)
