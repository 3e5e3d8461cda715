"""Cases: a cluster, a pod and a configuration in one JSON object, decided one by one.

{"id": "...", "objects": [<objects>], "pod": <the pod to place>, "config": <KubeSchedulerConfiguration, optional>}

``theirs`` may stand beside: what kube-scheduler said (``disagreement.Theirs``). No answer goes by it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kschedctl.api.defaults import default_pod
from kschedctl.api.kinds import kind_type
from kschedctl.api.pod import Pod
from kschedctl.api.quantity import QuantityError
from kschedctl.api.resources import RequestRules, pod_requests
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.errors import InputError
from kschedctl.framework.config.load import load_configuration
from kschedctl.framework.registry import Registry
from kschedctl.releases.release import Release
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.scheduler import Scheduler


class Case(msgspec.Struct, frozen=True):
    """One case.

    Attributes
    ----------
    id : str
        Its name; the answer has the same.
    objects : tuple of objects
        The cluster.
    pod : object
        The pod to place.
    config : object, optional
        A KubeSchedulerConfiguration.
    theirs : object, optional
        What kube-scheduler said, in a case that a user recorded.
    """

    id: str
    pod: Any
    objects: tuple[dict[str, Any], ...] = ()
    config: dict[str, Any] | None = None
    theirs: dict[str, Any] | None = None


def decide(case: Case, release: Release, registry: Registry) -> Decision:
    """Decide a case.

    Raises
    ------
    InputError
        Where the case is not one that a scheduler could be given.
    """
    builder = ClusterBuilder()
    for i, data in enumerate(case.objects):
        kind = kind_type(str(data.get("apiVersion", "")), str(data.get("kind", "")))
        if kind is not None:
            builder.add(_convert(data, kind, f"objects[{i}]"), f"objects[{i}]")
    pod = _checked(_convert(case.pod, Pod, "pod"))
    configuration = None
    if case.config is not None:
        points = registry.extension_points(release)
        configuration = load_configuration(case.config, release=release, implements=points, where="config")
    return Scheduler(builder.build(), release, configuration, registry).explain(pod)


def _checked(pod: Pod) -> Pod:
    """The pod with defaults, once all its quantities were read; wrong selectors are for the scheduler to refuse."""
    try:
        pod = default_pod(pod)
        pod_requests(pod, RequestRules())
    except QuantityError as error:
        raise InputError(str(error), path=f"pod.{error.path}") from None
    return pod


def _convert(data: Any, kind: type[Any], path: str) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise InputError(str(error), path=path) from None
