"""A scheduler with extenders, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kschedctl.api.core import Node
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.extenders.http_extender import http_extenders
from kschedctl.framework.config.load import load_configuration
from kschedctl.framework.config.types import API_VERSION, KIND
from kschedctl.plugins.registry import in_tree_registry
from kschedctl.releases.release import LATEST
from kschedctl.scheduler.scheduler import Scheduler
from tests.builders import make_cluster


def make_scheduler(
    nodes: Iterable[Node],
    *extenders: dict[str, Any],
    pods: Iterable[Pod] = (),
    objects: Iterable[ApiObject] = (),
    called: bool = True,
) -> Scheduler:
    """A scheduler of the default profile.

    Parameters
    ----------
    *extenders : dict
        As in the configuration's file.
    called : bool
        Whether they are called.
    """
    registry = in_tree_registry()
    data = {"apiVersion": API_VERSION, "kind": KIND, "extenders": list(extenders)}
    points = registry.extension_points(LATEST)
    configuration = load_configuration(data, release=LATEST, implements=points)
    asked = http_extenders(configuration) if called else ()
    return Scheduler(make_cluster(nodes, pods, *objects), LATEST, configuration, registry, extenders=asked)
