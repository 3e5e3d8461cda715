"""The arguments of the in-tree plugins, with the defaults that kube-scheduler gives them.

The constraints that PodTopologySpread uses where ``defaulting_type`` is ``System`` are the plugin's own, not part of
its args.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec

from kschedctl.api.duration import Duration
from kschedctl.api.meta import Int32, Int64
from kschedctl.api.node_selector import NodeAffinity
from kschedctl.api.pod import TopologySpreadConstraint
from kschedctl.framework.config.types import ConfigStruct
from kschedctl.releases.release import Release

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
#: The highest score of a point in a shape.
MAX_CUSTOM_SCORE: Final = 10
SYSTEM_DEFAULTING: Final = "System"
LIST_DEFAULTING: Final = "List"


class ResourceSpec(ConfigStruct, frozen=True):
    zero_means_default: ClassVar[frozenset[str]] = frozenset({"weight"})

    name: str = ""
    weight: Int64 = 1


_CPU_AND_MEMORY: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


class UtilizationShapePoint(ConfigStruct, frozen=True):
    """A point of a scoring function: utilization in percent, score from 0 to 10."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatio(ConfigStruct, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ConfigStruct, frozen=True):
    zero_means_default: ClassVar[frozenset[str]] = frozenset({"resources"})

    type: str = ""
    resources: tuple[ResourceSpec, ...] = _CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None


class DefaultPreemptionArgs(ConfigStruct, frozen=True):
    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class DynamicResourcesArgs(ConfigStruct, frozen=True):
    """``binding_timeout`` is ``None`` in releases that do not wait for devices to bind."""

    filter_timeout: Duration | None = Duration.seconds(10)
    binding_timeout: Duration | None = None


class InterPodAffinityArgs(ConfigStruct, frozen=True):
    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(ConfigStruct, frozen=True):
    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(ConfigStruct, frozen=True):
    zero_means_default: ClassVar[frozenset[str]] = frozenset({"resources"})

    resources: tuple[ResourceSpec, ...] = _CPU_AND_MEMORY


class NodeResourcesFitArgs(ConfigStruct, frozen=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type=LEAST_ALLOCATED)


class PodTopologySpreadArgs(ConfigStruct, frozen=True):
    zero_means_default: ClassVar[frozenset[str]] = frozenset({"defaulting_type"})

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = SYSTEM_DEFAULTING


class VolumeBindingArgs(ConfigStruct, frozen=True):
    """``shape`` belongs to the gate StorageCapacityScoring, and is ``None`` without it."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


class RawArgs(msgspec.Struct, frozen=True):
    """The args of a plugin that is not in-tree, as written: a JSON value, ``None`` where there are none."""

    value: Any = None


#: The type of args of each in-tree plugin that has any.
ARGS: Final[Mapping[str, type[ConfigStruct]]] = MappingProxyType(
    {
        "DefaultPreemption": DefaultPreemptionArgs,
        "DynamicResources": DynamicResourcesArgs,
        "InterPodAffinity": InterPodAffinityArgs,
        "NodeAffinity": NodeAffinityArgs,
        "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
        "NodeResourcesFit": NodeResourcesFitArgs,
        "PodTopologySpread": PodTopologySpreadArgs,
        "VolumeBinding": VolumeBindingArgs,
    }
)


#: Storage with much room scores high.
_ROOM_ON_STORAGE: Final = (
    UtilizationShapePoint(utilization=0, score=MAX_CUSTOM_SCORE),
    UtilizationShapePoint(utilization=100, score=0),
)


def shape_points(shape: tuple[UtilizationShapePoint, ...]) -> tuple[tuple[int, int], ...]:
    """The points of a shape with scores from 0 to 100: (utilization in percent, score)."""
    return tuple((point.utilization, point.score * (100 // MAX_CUSTOM_SCORE)) for point in shape)


def with_release_defaults(args: msgspec.Struct, release: Release) -> msgspec.Struct:
    """Fill what only some releases have a default for."""
    waits = release.dynamic_resources_binding_timeout
    if isinstance(args, DynamicResourcesArgs) and args.binding_timeout is None and waits:
        return msgspec.structs.replace(args, binding_timeout=Duration.seconds(600))
    if isinstance(args, VolumeBindingArgs) and not args.shape and release.enabled("StorageCapacityScoring"):
        return msgspec.structs.replace(args, shape=_ROOM_ON_STORAGE)
    return args


def default_args(release: Release) -> dict[str, msgspec.Struct]:
    """The args of every in-tree plugin that has any, where nothing is configured."""
    known = ((name, cls) for name, cls in ARGS.items() if name not in release.plugins_without_args)
    return {name: with_release_defaults(cls(), release) for name, cls in known}
