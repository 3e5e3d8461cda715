"""Sequences: a few workloads of several replicas each, created in turns on a cluster with little free capacity."""

import copy
from collections.abc import Callable
from typing import Final

from conformance.generate.chance import MI
from conformance.generate.images import images
from conformance.generate.interpod import interpod
from conformance.generate.nodeaffinity import nodeaffinity
from conformance.generate.ports import ports
from conformance.generate.preemption import budgets, fill_nodes
from conformance.generate.scene import Object, Scene
from conformance.generate.spread import spread
from conformance.generate.taints import taints


def _nothing(_s: Scene) -> None:
    """Leave the workload with resource requests only."""


_FEATURES: Final[tuple[tuple[float, Callable[[Scene], None]], ...]] = (
    (6, _nothing), (2, spread), (2, interpod), (1, taints), (1, nodeaffinity), (1, ports), (1, images),
)  # fmt: skip
_SECOND: Final[tuple[tuple[float, Callable[[Scene], None]], ...]] = ((5, _nothing), (1, spread), (1, interpod))


def sequence(s: Scene) -> None:
    """Add two to five workloads; their pods are interleaved as if several users created them."""
    tight = s.odds(0.5)
    if tight:
        s.pods = s.pods[:4]
        fill_nodes(s, s.weighted((3, (-10, 0, 10)), (2, (0,))), s.pick(500, 1000, 1500))
        s.pods = [pod for pod in s.pods if s.odds(0.7)]
    workloads = [_workload(s, i, tight=tight) for i in range(1, s.between(2, 5) + 1)]
    if tight and s.odds(0.4):
        budgets(s)
    created: list[Object] = []
    while left := [workload for workload in workloads if workload]:
        workload = s.pick(*left)
        n = s.between(1, len(workload))
        created += workload[:n]
        del workload[:n]
    s.sequence = created


def _workload(s: Scene, i: int, *, tight: bool) -> list[Object]:
    containers = [s.container(cpu=s.pick(100, 250, 500, 900), memory=s.pick(64, 256, 512) * MI)]
    s.pod = s.new_pod("incoming", s.weighted((5, "default"), (1, "prod")), s.labels(), containers=containers)
    s.weighted(*_FEATURES)(s)
    s.weighted(*_SECOND)(s)
    spec = s.pod["spec"]
    spec["priority"] = s.weighted((2, 0), (2, 10), (3, 100), (2, 1000)) if tight else s.weighted((4, 0), (1, 10))
    if s.odds(0.1):
        spec["preemptionPolicy"] = "Never"
    if s.odds(0.06):
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    spec.pop("nodeName", None)
    found = []
    for j in range(s.between(1, 7)):
        pod = copy.deepcopy(s.pod)
        pod["metadata"] |= {"name": f"w{i}-{j + 1}", "uid": s.uid()}
        found.append(pod)
    return found
