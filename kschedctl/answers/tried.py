"""Changes that were made and tried, as data: what ``explain`` and ``pending`` suggest has one form."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from kschedctl.answers.base import Data
from kschedctl.framework.remedy_scope import Scope


class ThenData(Data, frozen=True):
    """What is decided once the changes are made."""

    nodes: Annotated[
        tuple[str, ...], Meta(description="Where the pod can go, or where preemption would make room by evicting.")
    ]


class TriedData(Data, frozen=True):
    """Changes that were made and tried together."""

    summary: Annotated[str, Meta(description="What to do, in a few words.")]
    kind: Annotated[Scope, Meta(description="What is changed: pods, a node, or something else of the cluster.")]
    evicts: Annotated[tuple[str, ...], Meta(description="The pods that it costs, namespace/name.")]
    violates: Annotated[tuple[str, ...], Meta(description="The disruption budgets that this breaks, namespace/name.")]
    changes: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description="Each is a patch of RFC 6902 with apiVersion, kind, namespace and name of its object, "
            "or has the object to create, or the one to delete."
        ),
    ]


class AppliedData(TriedData, frozen=True):
    """The same, and how to make them."""

    workload_changes: Annotated[
        tuple[dict[str, Any], ...],
        Meta(description="The changes of pods as patches of their workload's template; empty where it has none."),
    ]
    commands: Annotated[
        tuple[str, ...],
        Meta(description="kubectl commands that make the changes; a line with # says what a manifest has to have."),
    ]
