"""Cures as data: the form that all answers but those of ``explain`` and ``pending`` share."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.questions.answers.base import Data


class CureData(Data, frozen=True):
    """A change with which a drain or a rollout finishes, or a pending pod is scheduled."""

    summary: Annotated[str, Meta(description="The change in a few words.")]
    then: Annotated[
        str,
        Meta(description="The outcome with the change, in words; empty if it was not tried."),
    ]
    commands: Annotated[
        tuple[str, ...],
        Meta(description="The commands that make the change; a line that starts with # describes an edit."),
    ]
    untried: Annotated[
        str, Meta(description="The reason why the change cannot be tried on a snapshot; empty if it was tried.")
    ] = ""
