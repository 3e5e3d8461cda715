"""The status that Cluster Autoscaler writes into a ConfigMap, in both of its forms (clusterstate/api, utils/status.go).

Since Kubernetes 1.30 the status is YAML; before, it was a text for people.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.text.yaml import yaml_values
from kschedctl.objects.cluster_autoscaler import LAST_UPDATED, STATUS_NAME, STATUS_NAMESPACE
from kschedctl.objects.coordination import ConfigMap
from kschedctl.objects.meta import ApiStruct, Int32

_HEALTHY: Final = "Healthy"
_BACKOFF: Final = "Backoff"


# The YAML form; its fields are those of clusterstate/api.


class UnreadyNodes(ApiStruct, frozen=True):
    """The nodes of a group that are not ready."""

    total: Int32 = 0


class RegisteredNodes(ApiStruct, frozen=True):
    """The nodes of a group that are in the cluster."""

    total: Int32 = 0
    ready: Int32 = 0
    unready: UnreadyNodes = UnreadyNodes()


class NodeCounts(ApiStruct, frozen=True):
    """The nodes of a group by their state."""

    registered: RegisteredNodes = RegisteredNodes()
    long_unregistered: Int32 = 0


class Health(ApiStruct, frozen=True):
    """The health of a group, and its sizes."""

    status: str = ""
    node_counts: NodeCounts = NodeCounts()
    cloud_provider_target: Int32 = 0
    min_size: Int32 = 0
    max_size: Int32 = 0


class BackoffInfo(ApiStruct, frozen=True):
    """The error of the cloud after which a group is left alone."""

    error_code: str = ""
    error_message: str = ""


class ScaleUp(ApiStruct, frozen=True):
    """The last activity of a group."""

    status: str = ""
    backoff_info: BackoffInfo = BackoffInfo()
    last_transition_time: str = ""


class GroupStatus(ApiStruct, frozen=True):
    """The state of a node group; the name is that of the cloud, such as an Auto Scaling group."""

    name: str = ""
    health: Health = Health()
    scale_up: ScaleUp = ScaleUp()

    @property
    def is_healthy(self) -> bool:
        return self.health.status in ("", _HEALTHY)

    @property
    def is_in_backoff(self) -> bool:
        return self.scale_up.status == _BACKOFF

    @property
    def backoff_cause(self) -> str:
        """The error of the cloud after which the group is left alone; empty if it is not recorded."""
        info = self.scale_up.backoff_info
        return ": ".join(filter(None, (info.error_code, info.error_message)))

    @property
    def backoff_since(self) -> datetime | None:
        return parse_time(self.scale_up.last_transition_time)

    @property
    def n_upcoming(self) -> int:
        """The number of requested nodes that have not become ready yet (``GetUpcomingNodes``)."""
        counts = self.health.node_counts
        present = counts.registered.ready + counts.registered.unready.total + counts.long_unregistered
        return max(self.health.cloud_provider_target - present, 0)


class AutoscalerStatus(ApiStruct, frozen=True):
    """The whole status."""

    time: str = ""
    autoscaler_status: str = ""
    cluster_wide: GroupStatus = GroupStatus()
    node_groups: tuple[GroupStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """The status as it was found in a cluster."""

    #: The node groups in the order of the status.
    groups: tuple[GroupStatus, ...]
    #: The state of the cluster as a whole.
    cluster_wide: GroupStatus
    #: The last time at which the autoscaler wrote the status; ``None`` if it is not recorded.
    written: datetime | None


def status_of(cluster: Cluster) -> Status | None:
    """Return the status of a cluster's autoscaler; ``None`` if there is none, or none that can be read."""
    config_map = cluster.get(ConfigMap, STATUS_NAME, STATUS_NAMESPACE)
    read = parse_status(config_map.data.status) if config_map is not None else None
    if config_map is None or read is None:
        return None
    written = parse_time(read.time) or parse_time(config_map.metadata.annotations.get(LAST_UPDATED, ""))
    groups = tuple(group for group in read.node_groups if group.name)
    return Status(groups, read.cluster_wide, written)


def parse_status(text: str) -> AutoscalerStatus | None:
    """Return the status in a text of either form; ``None`` if the text has neither form.

    >>> parse_status("nodeGroups: [{name: a, health: {maxSize: 3}}]").node_groups[0].health.max_size
    3
    """
    if (first := _FIRST_LINE.match(text)) is not None:
        return _of_old_text(text, first["time"])
    try:
        found = next((value for _, value, _ in yaml_values(text.encode(), STATUS_NAME)), None)
        read = msgspec.convert(found, AutoscalerStatus, strict=False)
    except (InputError, UnicodeError, msgspec.ValidationError, RecursionError):
        return None
    return read if read.node_groups or read.autoscaler_status or read.time else None


_TIME: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?:\.\d+)?(?: ?(?P<zone>Z|[+-]\d\d:?\d\d))?"
)


def parse_time(text: str) -> datetime | None:
    """Return the time in a text of Go or of RFC 3339, to the second; a time without a zone is UTC.

    >>> str(parse_time("2022-02-24 23:56:52.490683298 +0000 UTC m=+5.1")), parse_time("")
    ('2022-02-24 23:56:52+00:00', None)
    """
    found = _TIME.match(text)
    if found is None:
        return None
    zone = (found["zone"] or "+0000").replace("Z", "+0000").replace(":", "")
    try:
        time = datetime.strptime(f"{found['day']} {found['time']} {zone}", "%Y-%m-%d %H:%M:%S %z").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    # Go writes the year 1 where no time is set.
    return time if time.year > 1 else None


# The form of old releases: indented lines such as ``Health:      Healthy (ready=1 ... (minSize=1, maxSize=3))``.

_FIRST_LINE: Final = re.compile(r"\s*Cluster-autoscaler status at (?P<time>[^\n]*?):\s*(?:\n|$)")
_LINE: Final = re.compile(r"\s*(?P<key>\w+):\s+(?P<value>\S.*)")
_NUMBER: Final = re.compile(r"(\w+)=(\d{1,9})")
_NAME: Final = "Name"
#: The fields of a group in this form; each line of times below belongs to the field above it.
_HEALTH, _SCALE_UP, _SCALE_DOWN = "Health", "ScaleUp", "ScaleDown"


def _of_old_text(text: str, time: str) -> AutoscalerStatus:
    # The first group has no name and stands for the cluster.
    groups: list[dict[str, str]] = [{}]
    last = ""
    for line in text.splitlines():
        if (found := _LINE.match(line)) is None:
            continue
        key, value = found["key"], found["value"].strip()
        if key == _NAME:
            groups.append({_NAME: value})
        elif key in (_HEALTH, _SCALE_UP, _SCALE_DOWN):
            groups[-1][key] = value
            last = key
        elif last:
            groups[-1][f"{last}.{key}"] = value
    cluster_wide, *others = map(_old_group, groups)
    return AutoscalerStatus(time, "Running", cluster_wide, tuple(others))


def _old_group(fields: dict[str, str]) -> GroupStatus:
    health, scale_up = fields.get(_HEALTH, ""), fields.get(_SCALE_UP, "")
    number: dict[str, Any] = {key: int(value) for key, value in _NUMBER.findall(health)}
    # Nodes that are not started for long were unready for the autoscaler of those releases.
    unready = number.get("unready", 0) + number.get("longNotStarted", 0)
    registered = RegisteredNodes(number.get("registered", 0), number.get("ready", 0), UnreadyNodes(unready))
    return GroupStatus(
        fields.get(_NAME, ""),
        Health(
            _word(health),
            NodeCounts(registered, number.get("longUnregistered", 0)),
            number.get("cloudProviderTarget", 0),
            number.get("minSize", 0),
            number.get("maxSize", 0),
        ),
        ScaleUp(_word(scale_up), last_transition_time=fields.get(f"{_SCALE_UP}.LastTransitionTime", "")),
    )


def _word(value: str) -> str:
    return value.split(" ", 1)[0]
