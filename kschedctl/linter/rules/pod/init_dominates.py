"""An init container requests more than all containers together, so the pod reserves that much for its whole lifetime.

For each resource the scheduler counts the largest request of an init container or the sum of the requests of all
containers, whichever is larger. The reservation does not shrink when the init container ends. Init containers that are
restarted (sidecars) count as containers. The rule ignores resources that no container requests.

Nothing is blocked; fewer pods fit on each node, and unused capacity is paid for.

Repair: lower the init container's request, or use the reserved amount in the containers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import TemplateContainer, WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import mapping, nano_units
from kschedctl.objects.resources import format_nanos

FAILS = """v1 Pod web
initContainers:
- name: migrate
  image: migrate
  resources:
    requests:
      memory: 2Gi  # <-
resources:
  requests:
    memory: 256Mi
"""
PASSES = FAILS.replace("2Gi", "256Mi")

_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for resource in _RESOURCES:
        stated = [(each, each.amount(resource)) for each in pods.containers if each.amount(resource) is not None]
        amounts = [(each, nano_units(written)) for each, written in stated]
        if any(nanos is None for _, nanos in amounts):
            continue
        first = [(nanos or 0, each) for each, nanos in amounts if each.init]
        later = [nanos or 0 for each, nanos in amounts if not each.init]
        if not first or not later:
            continue
        most, container = max(first, key=lambda pair: pair[0])
        if most > sum(later):
            yield Problem(
                message=f"init container {container.name} requests {format_nanos(resource, most)} of {resource}, all "
                f"containers together {format_nanos(resource, sum(later))}: the pod reserves the former for its "
                "lifetime",
                steps=(*container.steps, "resources", _field(container, resource), resource),
                help="lower it, or use the reserved amount in the containers",
            )


def _field(container: TemplateContainer, resource: str) -> str:
    requests = mapping(mapping(container.raw.get("resources")).get("requests"))
    return "requests" if requests.get(resource) is not None else "limits"
