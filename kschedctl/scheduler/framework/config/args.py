"""The arguments of the in-tree plugins, with kube-scheduler's defaults.

The constraints that PodTopologySpread uses if ``defaulting_type`` is ``System`` belong to the plugin, not to its args.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec

from kschedctl.objects.duration import Duration
from kschedctl.objects.meta import Int32, Int64
from kschedctl.objects.pod import TopologySpreadConstraint
from kschedctl.objects.releases.release import Release
from kschedctl.objects.selectors import NodeAffinity
from kschedctl.scheduler.framework.config.types import ConfigStruct

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
#: The maximum score of a point in a shape.
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
    """Args of DynamicResources; ``binding_timeout`` is ``None`` in releases that do not wait for devices to bind."""

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
    """Args of VolumeBinding; ``shape`` is ``None`` without the feature gate StorageCapacityScoring."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


class RawArgs(msgspec.Struct, frozen=True):
    """The args of an out-of-tree plugin, as written: a JSON value; ``None`` if it has none."""

    value: Any = None


#: The args type of each in-tree plugin that has args.
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


#: The default shape: empty storage scores 10, full storage 0.
_ROOM_ON_STORAGE: Final = (
    UtilizationShapePoint(utilization=0, score=MAX_CUSTOM_SCORE),
    UtilizationShapePoint(utilization=100, score=0),
)


def shape_points(shape: tuple[UtilizationShapePoint, ...]) -> tuple[tuple[int, int], ...]:
    """Return the points of a shape as (utilization in percent, score), with scores scaled from 0..10 to 0..100."""
    return tuple((point.utilization, point.score * (100 // MAX_CUSTOM_SCORE)) for point in shape)


def with_release_defaults(args: msgspec.Struct, release: Release) -> msgspec.Struct:
    """Fill in the defaults that exist only in some releases."""
    waits = release.dynamic_resources_binding_timeout
    if isinstance(args, DynamicResourcesArgs) and args.binding_timeout is None and waits:
        return msgspec.structs.replace(args, binding_timeout=Duration.seconds(600))
    if isinstance(args, VolumeBindingArgs) and not args.shape and release.enabled("StorageCapacityScoring"):
        return msgspec.structs.replace(args, shape=_ROOM_ON_STORAGE)
    return args


def default_args(release: Release) -> dict[str, msgspec.Struct]:
    """Return the default args of every in-tree plugin that has args in the release."""
    known = ((name, cls) for name, cls in ARGS.items() if name not in release.plugins_without_args)
    return {name: with_release_defaults(cls(), release) for name, cls in known}
