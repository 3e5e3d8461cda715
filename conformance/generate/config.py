"""Scheduler configurations: profiles, plugins per extension point, their order, weights and arguments."""

from typing import Final

from conformance.generate.images import images
from conformance.generate.interpod import interpod
from conformance.generate.nodeaffinity import nodeaffinity
from conformance.generate.resources import resources
from conformance.generate.scene import FPGA, GPU, NIC, Object, Scene
from conformance.generate.spread import spread
from conformance.generate.taints import taints

_SCORERS: Final = (
    "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity",
    "NodeResourcesBalancedAllocation", "ImageLocality",
)  # fmt: skip
_VOLUMES: Final = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
_FILTERS: Final = (
    "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", *_VOLUMES,
    "PodTopologySpread", "InterPodAffinity",
)  # fmt: skip
_ORDER: Final = (
    "SchedulingGates", "PrioritySort", *_FILTERS, "DynamicResources", "DefaultPreemption",
    "NodeResourcesBalancedAllocation", "ImageLocality", "DefaultBinder",
)  # fmt: skip
_SCORED: Final = ("cpu", "memory", "ephemeral-storage", GPU)


def shape(s: Scene) -> list[Object]:
    """Return the points of a function from utilization to score."""
    points = sorted(s.random.sample(range(101), s.between(1, 4)))
    if s.odds(0.6):
        points = sorted({0, 100, *points[:2]})
    scores = [s.between(0, 10) for _ in points]
    style = s.pick("any", "up", "down")
    if style != "any":
        scores.sort(reverse=style == "down")
    return [{"utilization": point, "score": score} for point, score in zip(points, scores, strict=True)]


def strategy(s: Scene, names: tuple[str, ...] = _SCORED) -> Object:
    """Return a scoring strategy of NodeResourcesFit."""
    kind = s.pick("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
    weighted = [{"name": name, "weight": s.between(1, s.pick(1, 5, 100))} for name in s.some(names, 1, 4)]
    found: Object = {"type": kind, "resources": weighted}
    if kind == "RequestedToCapacityRatio":
        found["requestedToCapacityRatio"] = {"shape": shape(s)}
    return found


def _taken(s: Scene, *points: tuple[str, str]) -> set[str]:
    """Return the plugins already in these lists: a list with a plugin twice is rejected."""
    return {entry["name"] for point, which in points for entry in s.plugins(point, which)}


def _weights(s: Scene) -> None:
    names = s.some(_SCORERS, 1, 4)
    if s.odds(0.5):
        taken = _taken(s, ("multiPoint", "enabled"), ("multiPoint", "disabled"))
        enabled = s.plugins("multiPoint", "enabled")
        enabled += [{"name": name, "weight": s.pick(1, 2, 5, 10, 100)} for name in names if name not in taken]
        return
    taken = _taken(s, ("score", "disabled"), ("multiPoint", "disabled"))
    if "*" not in taken:
        for name in names:
            if name not in taken:
                s.disable("score", name)
                s.plugins("score", "enabled").append({"name": name, "weight": s.pick(1, 3, 7, 50)})


def _off_score(s: Scene) -> None:
    if s.odds(0.15):
        s.plugins("score", "disabled")[:] = [{"name": "*"}]
    elif {"name": "*"} not in s.plugins("score", "disabled"):
        s.disable("score", *s.some(_SCORERS, 1, 4))


def _off_filter(s: Scene) -> None:
    s.disable("filter", *s.some(_FILTERS, 1, 3))


def _off_everywhere(s: Scene) -> None:
    taken = _taken(s, ("score", "enabled"), ("multiPoint", "enabled"))
    names = s.some((*_SCORERS[:5], "ImageLocality", "NodePorts", "DynamicResources", "VolumeBinding"), 1, 3)
    s.disable("multiPoint", *(name for name in names if name not in taken))


def _off_preemption(s: Scene) -> None:
    s.disable("postFilter", s.pick("DefaultPreemption", "DynamicResources"))


def _only(s: Scene) -> None:
    """Enable an explicit list of plugins, in half of the cases in random order."""
    if _taken(s, ("multiPoint", "enabled"), ("multiPoint", "disabled"), ("score", "enabled"), ("score", "disabled")):
        return
    kept = [name for name in _ORDER if name in ("PrioritySort", "DefaultBinder") or s.odds(0.6)]
    if s.odds(0.5):
        s.random.shuffle(kept)
    s.disable("multiPoint", "*")
    for name in kept:
        weight = {"weight": s.pick(1, 2, 9)} if name in _SCORERS and s.odds(0.4) else {}
        s.plugins("multiPoint", "enabled").append({"name": name, **weight})


def _strategy(s: Scene) -> None:
    s.plugin_args("NodeResourcesFit", scoringStrategy=strategy(s))


def _balance(s: Scene) -> None:
    entries = [{"name": name, "weight": 1} for name in s.some(_SCORED, 1, 4)]
    s.plugin_args("NodeResourcesBalancedAllocation", resources=entries)


def _ignored(s: Scene) -> None:
    if s.odds(0.5):
        s.plugin_args("NodeResourcesFit", ignoredResources=s.some((GPU, FPGA, NIC), 1, 2))
    else:
        s.plugin_args("NodeResourcesFit", ignoredResourceGroups=["example.com"])


_CHANGES: Final = (
    _weights, _off_score, _off_filter, _off_everywhere, _strategy, _strategy, _balance, _ignored, _off_preemption,
    _only,
)  # fmt: skip


def configure(s: Scene) -> None:
    """Apply one to three changes to the configuration, in a quarter of the cases with a second profile."""
    if s.odds(0.25):
        s.profile("default-scheduler")
        s.profile("batch")
        s.pod["spec"]["schedulerName"] = s.pick("default-scheduler", "batch")
    s.profile()
    for change in s.some(_CHANGES, 1, 3):
        change(s)
    for point in ("multiPoint", "score"):  # drop the empty lists that looking them up created
        lists = s.profile().get("plugins", {}).get(point, {})
        for which in [which for which, entries in lists.items() if not entries]:
            del lists[which]
    if s.odds(0.2):
        s.plugin_args(
            "DefaultPreemption",
            minCandidateNodesPercentage=s.pick(0, 10, 100),
            minCandidateNodesAbsolute=s.pick(1, 100),
        )


def config(s: Scene) -> None:
    """Add features that the configuration affects, then the configuration."""
    for feature in s.some((taints, nodeaffinity, images, spread, interpod), 1, 3):
        feature(s)
    if s.odds(0.75):
        before, s.gentle = s.gentle, s.odds(0.6)
        resources(s)
        s.gentle = before
    s.pod["spec"].pop("nodeName", None)
    configure(s)
