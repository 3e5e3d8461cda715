"""The types of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) as written, with the scheduler's defaults.

An omitted field has the default of ``pkg/scheduler/apis/config/v1/defaults.go``. Plugin args are kept as written and
decoded by the type of their plugin.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec
from msgspec import field

from kschedctl.objects.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.objects.duration import Duration
from kschedctl.objects.meta import Int32, Int64
from kschedctl.objects.pod import TopologySpreadConstraint
from kschedctl.objects.releases.release import Release
from kschedctl.objects.selectors import NodeAffinity

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"


class ConfigStruct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Base class of all configuration types: immutable, camelCase as written, no unknown fields."""

    #: Fields whose zero value (0, an empty string, an empty list) the scheduler replaces by the default.
    zero_means_default: ClassVar[frozenset[str]] = frozenset()


class LeaderElection(ConfigStruct, frozen=True):
    zero_means_default: ClassVar[frozenset[str]] = frozenset(
        {"lease_duration", "renew_deadline", "retry_period", "resource_lock", "resource_name", "resource_namespace"}
    )

    leader_elect: bool = True
    lease_duration: Duration = Duration.seconds(15)
    renew_deadline: Duration = Duration.seconds(10)
    retry_period: Duration = Duration.seconds(2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(ConfigStruct, frozen=True):
    zero_means_default: ClassVar[frozenset[str]] = frozenset({"content_type", "qps", "burst"})

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100


class PluginRef(ConfigStruct, frozen=True):
    """A plugin in a list of plugins; weight 0 means that no weight is set."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(ConfigStruct, frozen=True):
    """The enabled and disabled plugins of one extension point."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(ConfigStruct, frozen=True):
    """The plugins of each extension point; the placement points and ``pod_group_post_filter`` are for pod groups."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    placement_feasible: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """Return the plugin set of an extension point, named as in the file."""
        plugins: PluginSet = getattr(self, _FIELD_OF_POINT[point])
        return plugins


_FIELD_OF_POINT: Final = {info.encode_name: info.name for info in msgspec.structs.fields(Plugins)}


class PluginConfig(ConfigStruct, frozen=True):
    """The args of a plugin as written; ``None`` if there are none."""

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(ConfigStruct, frozen=True):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    percentage_of_placements_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderManagedResource(ConfigStruct, frozen=True):
    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigStruct, frozen=True):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class ExtenderConfig(ConfigStruct, frozen=True):
    """A scheduler extender; its HTTP timeout is 5 seconds by default."""

    zero_means_default: ClassVar[frozenset[str]] = frozenset({"http_timeout"})

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration.seconds(5)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(ConfigStruct, frozen=True):
    zero_means_default: ClassVar[frozenset[str]] = frozenset({"profiles"})

    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 = 0
    percentage_of_placements_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = (KubeSchedulerProfile(scheduler_name=DEFAULT_SCHEDULER_NAME),)
    extenders: tuple[ExtenderConfig, ...] = ()
    delay_cache_until_active: bool = False


# The arguments of the in-tree plugins, with kube-scheduler's defaults.
#
# The constraints that PodTopologySpread uses if ``defaulting_type`` is ``System`` belong to the plugin, not to its
# args.

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
