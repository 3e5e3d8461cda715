"""The types of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) as written, with the scheduler's defaults.

An omitted field has the default of ``pkg/scheduler/apis/config/v1/defaults.go``. Plugin args are kept as written; their
types are in ``kschedctl.scheduler.framework.config.args``.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec
from msgspec import field

from kschedctl.objects.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.objects.duration import Duration
from kschedctl.objects.meta import Int32, Int64

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
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = (KubeSchedulerProfile(scheduler_name=DEFAULT_SCHEDULER_NAME),)
    extenders: tuple[ExtenderConfig, ...] = ()
    delay_cache_until_active: bool = False
