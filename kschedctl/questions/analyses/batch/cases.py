"""Cases: a cluster, a pod and a configuration in one JSON object, decided one by one.

{"id": "...", "objects": [<objects>], "pod": <the pod to place>, "config": <KubeSchedulerConfiguration, optional>}

A case may also have ``theirs``, kube-scheduler's answer (``disagreement.Theirs``). Decisions ignore it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.common.errors import InputError
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.kinds import kind_type
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import RequestRules, pod_requests
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.registry import Registry


class CaseCluster(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part that all cases share: a cluster and a configuration.

    Attributes
    ----------
    id : str
        The name of the case; the answer has the same.
    objects : tuple of objects
        The cluster.
    config : object, optional
        A KubeSchedulerConfiguration.
    """

    id: str
    objects: tuple[dict[str, Any], ...] = ()
    config: dict[str, Any] | None = None


class Case(CaseCluster, frozen=True, kw_only=True):
    """A case: a cluster, a configuration, and a pod to decide for.

    Attributes
    ----------
    pod : object
        The pod to place.
    theirs : object, optional
        kube-scheduler's answer, in a case that a user recorded.
    """

    pod: Any
    theirs: dict[str, Any] | None = None


def decide(case: Case, release: Release, registry: Registry) -> Decision:
    """Decide a case.

    Raises
    ------
    InputError
        If the pod, an object or the configuration is invalid.
    """
    pod = read_case_pod(case.pod, "pod")
    return read_case_cluster(case, release, registry).decide(pod)


def read_case_cluster(case: CaseCluster, release: Release, registry: Registry) -> Scheduler:
    """Return the scheduler of a case over its cluster.

    Raises
    ------
    InputError
        If an object or the configuration is invalid.
    """
    builder = ClusterBuilder()
    for i, data in enumerate(case.objects):
        obj = read_case_object(data, f"objects[{i}]")
        if obj is not None:
            builder.add(obj, f"objects[{i}]")
    configuration = None
    if case.config is not None:
        points = registry.extension_points(release)
        configuration = load_configuration(
            case.config, release=release, implements=points, args_types=registry.args_types, where="config"
        )
    return Scheduler(builder.build(), release, configuration, registry)


def read_case_object(data: dict[str, Any], path: str) -> ApiObject | None:
    """Return an object of a case; ``None`` for a kind that scheduling does not read.

    Raises
    ------
    InputError
        If the object is invalid; the field's path begins with ``path``.
    """
    kind = kind_type(str(data.get("apiVersion", "")), str(data.get("kind", "")))
    if kind is None:
        return None
    obj: ApiObject = _convert(data, kind, path)
    return obj


def read_case_pod(data: Any, path: str) -> Pod:
    """Return a case's pod with defaults, after checking its quantities; the scheduler reports wrong selectors itself.

    Raises
    ------
    InputError
        If the pod is invalid; the field's path begins with ``path``.
    """
    try:
        pod = default_pod(_convert(data, Pod, path))
        pod_requests(pod, RequestRules())
    except QuantityError as error:
        raise InputError(str(error), path=f"{path}.{error.path}") from None
    return pod


def _convert(data: Any, kind: type[Any], path: str) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise InputError(str(error), path=path) from None
