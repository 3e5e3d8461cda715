"""The pod groups that lose members, as data: part of the answers of ``drain``, ``rollout`` and ``diff``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.questions.answers.base import Data


class GroupLossData(Data, frozen=True):
    """A pod group that loses members. Evictions end single pods: the other members run on."""

    namespace: Annotated[str, Meta(description="The namespace of the PodGroup.")]
    name: Annotated[str, Meta(description="The name of the PodGroup.")]
    min_count: Annotated[
        int | None,
        Meta(description="minCount of the gang; null for the basic policy, or if the PodGroup does not exist."),
    ]
    disrupted_as_a_whole: Annotated[
        bool,
        Meta(
            description="True if preemption takes all members or none (disruptionMode all, or PodGroup). Evictions and "
            "deletions ignore this."
        ),
    ]
    evicted: Annotated[tuple[str, ...], Meta(description="The members that are evicted or deleted, as namespace/name.")]
    preempted: Annotated[tuple[str, ...], Meta(description="The members that are preempted, as namespace/name.")]
    before: Annotated[int, Meta(description="The number of members on nodes at first.")]
    fewest: Annotated[int, Meta(description="The smallest number of members on nodes at any time.")]
    after: Annotated[int, Meta(description="The number of members on nodes at the end.")]

    @property
    def title(self) -> str:
        """The group in words: ``gang ml/train``, or ``pod group ml/train`` for another policy."""
        return f"{'pod group' if self.min_count is None else 'gang'} {self.namespace}/{self.name}"

    @property
    def is_short(self) -> bool:
        """True if fewer members than ``minCount`` are on nodes at the end, and more were at first."""
        least = self.min_count or 0
        return self.after < least <= self.before

    @property
    def was_short(self) -> bool:
        """True if fewer members than ``minCount`` are on nodes for a time, and more were at first."""
        least = self.min_count or 0
        return self.fewest < least <= self.before
