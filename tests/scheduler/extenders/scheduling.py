"""A scheduler with extenders, for tests."""

from collections.abc import Iterable
from typing import Any

from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.extenders.http_extender import http_extenders
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import make_cluster


def make_scheduler(
    nodes: Iterable[Node],
    *extenders: dict[str, Any],
    pods: Iterable[Pod] = (),
    objects: Iterable[ApiObject] = (),
    called: bool = True,
) -> Scheduler:
    """Return a scheduler with the default profile and extenders.

    Parameters
    ----------
    nodes : iterable of Node
        The nodes.
    *extenders : dict
        The extenders, as in the configuration file.
    pods : iterable of Pod
        The pods.
    objects : iterable of ApiObject
        The other objects.
    called : bool
        True if the scheduler calls its extenders.
    """
    registry = in_tree_registry()
    data = {"apiVersion": API_VERSION, "kind": KIND, "extenders": list(extenders)}
    points = registry.extension_points(LATEST)
    configuration = load_configuration(data, release=LATEST, implements=points)
    asked = http_extenders(configuration) if called else ()
    return Scheduler(make_cluster(nodes, pods, *objects), LATEST, configuration, registry, extenders=asked)
