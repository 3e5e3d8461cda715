"""Suggested changes as data: the form that ``explain`` and ``pending`` share."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from kschedctl.questions.answers.base import Data
from kschedctl.scheduler.framework.remedy import RemedyScope


class ThenData(Data, frozen=True):
    """The decision once the changes are made."""

    nodes: Annotated[
        tuple[str, ...],
        Meta(description="The nodes that the pod can be scheduled to, or that preemption would free by evicting pods."),
    ]
    members: Annotated[
        int | None,
        Meta(description="The number of members that are scheduled with the pod's group; null for a pod by itself."),
    ] = None


class TriedData(Data, frozen=True):
    """A suggestion: changes that were made together and simulated."""

    summary: Annotated[str, Meta(description="The suggestion in a few words.")]
    kind: Annotated[
        RemedyScope, Meta(description="The kind of object that is changed: pod, node, or cluster for anything else.")
    ]
    evicts: Annotated[tuple[str, ...], Meta(description="The pods that the changes evict, as namespace/name.")]
    violates: Annotated[
        tuple[str, ...], Meta(description="The disruption budgets that the changes violate, as namespace/name.")
    ]
    changes: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description="The changes: each is an RFC 6902 patch with the apiVersion, kind, namespace and name of "
            "its object, or has the object to create, or the one to delete. Those of a wait happen by themselves."
        ),
    ]


class AppliedData(TriedData, frozen=True):
    """A suggestion with the patches and commands that apply it."""

    workload_changes: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description="The changes of pods as patches of their workload's pod template; empty if the pods have no "
            "workload."
        ),
    ]
    commands: Annotated[
        tuple[str, ...],
        Meta(
            description="The kubectl commands that make the changes; a line that starts with # describes an edit of "
            "a manifest."
        ),
    ]
    consequences: Annotated[
        tuple[str, ...],
        Meta(description="The side effects of the changes, such as the replicas that restart."),
    ]
    alternatives: Annotated[
        tuple[str, ...],
        Meta(description="Other ways to make the same change, each tried; the changes are those of the first way."),
    ]
    untried: Annotated[
        str,
        Meta(
            description="The reason why the changes cannot be tried on a snapshot; empty if they were tried and help."
        ),
    ]
