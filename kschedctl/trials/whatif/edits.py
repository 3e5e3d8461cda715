"""The what-if edits, one module per edit, and ``EDITS``, the list from which commands and the API take them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding, Subject, Where, subject_of
from kschedctl.sources.snapshot.validation import Validation
from kschedctl.trials.whatif.cluster_edits import (
    Apply,
    Cordon,
    Delete,
    Drain,
    FailZone,
    LabelNode,
    SetReplicas,
    TaintNode,
)
from kschedctl.trials.whatif.edit import Edit, FileEdit, PodEdit, Thing
from kschedctl.trials.whatif.pod_edits import DropConstraint, SetNodeSelector, SetPriority, SetRequest, Tolerate

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.pod import Pod
    from kschedctl.objects.releases.release import Release

#: All edit classes, in the order in which the edits take effect.
EDITS: Final[tuple[type[Edit], ...]] = (
    Apply,
    Delete,
    SetReplicas,
    LabelNode,
    TaintNode,
    Cordon,
    Drain,
    FailZone,
    SetRequest,
    Tolerate,
    SetPriority,
    SetNodeSelector,
    DropConstraint,
)

__all__ = [
    "EDITS",
    "Apply",
    "Cordon",
    "Delete",
    "Drain",
    "DropConstraint",
    "Edit",
    "FailZone",
    "LabelNode",
    "SetNodeSelector",
    "SetPriority",
    "SetReplicas",
    "SetRequest",
    "TaintNode",
    "Tolerate",
]


# The values of what-if options, as the user wrote them, and the edits that they define.


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfs:
    """The values of what-if options."""

    #: The values by the option's name.
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The namespace of objects that name none; empty for ``default``.
    namespace: str = ""
    #: The handling of unknown and duplicate fields of manifests, as with kubectl's ``--validate``.
    validation: Validation = Validation.STRICT
    #: The most bytes that are unpacked of a manifest; ``None`` for the default.
    max_bytes: int | None = None

    @property
    def given(self) -> bool:
        """True if any option has a value."""
        return any(self.texts.values())

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that the options read; ``-`` is standard input."""
        return tuple(source for edit, text in self._values() for source in edit.sources(text))

    def edits(self, warn_of: Callable[[Finding], None]) -> tuple[Edit, ...]:
        """Parse the values and return the edits in the order in which they take effect.

        Args:
            warn_of: Takes the warnings about manifests.

        Raises InputError if a value cannot be parsed.
        """
        edits = tuple(self._parsed(edit, text) for edit, text in self._values())
        for edit in edits:
            for warning in edit.warnings if isinstance(edit, FileEdit) else ():
                warn_of(warning)
        return edits

    def _parsed(self, edit: type[Edit], text: str) -> Edit:
        if issubclass(edit, FileEdit):
            return edit.parse(text, self.namespace, validation=self.validation, max_unpacked=self.max_bytes)
        return edit.parse(text, self.namespace)

    def _values(self) -> Iterator[tuple[type[Edit], str]]:
        for edit in EDITS:
            for text in self.texts.get(edit.option.name, ()):
                yield edit, text


# Sequences of edits: applies them to a cluster and its pods in order, and refuses conflicting edits.


@dataclass(frozen=True, slots=True)
class EditedCluster:
    """A cluster after a sequence of edits."""

    cluster: Cluster
    #: A description of the changes, one line per change.
    changes: tuple[str, ...] = ()
    #: The edits that remain to be applied to the pods that the request is about.
    pod_edits: tuple[PodEdit, ...] = ()


def apply_edits(cluster: Cluster, edits: Sequence[Edit], *, release: Release) -> EditedCluster:
    """Apply edits to a cluster, in order.

    Args:
        edits: The edits. Edits of pods are applied after all edits of the cluster.
        release: The Kubernetes release whose API server admits new pods.

    Raises InputError if two edits contradict each other, or an edit names an object that the cluster does not have.
    """
    given = Conflicts()
    for edit in edits:
        given.refuse(edit, edit.things())
    found = Conflicts()
    pod_edits = tuple(edit for edit in edits if isinstance(edit, PodEdit))
    changes: list[str] = []
    for edit in (*(edit for edit in edits if not isinstance(edit, PodEdit)), *pod_edits):
        try:
            found.refuse(edit, edit.things_in(cluster))
            cluster, made = edit.apply(cluster, release=release)
        except InputError as error:
            raise error.at(str(edit)) from None
        changes += made
    return EditedCluster(cluster, tuple(changes), pod_edits)


def apply_pod_edits(pod: Pod, edits: Sequence[PodEdit], cluster: Cluster, *, where: Where = "") -> Pod:
    """Apply edits to a pod, in order.

    Args:
        where: The source of the pod, for error messages.

    Raises InputError if the pod does not have the part that an edit changes.
    """
    for edit in edits:
        try:
            pod = edit.apply_to_pod(pod, cluster)
        except InputError as error:
            place, about = subject_of(where)
            words = ": ".join(str(part) for part in (place, edit) if part)
            raise error.at(Subject(words, about)) from None
    return pod


class Conflicts:
    """The edits so far, by the things that they change.

    Two edits conflict if they change the same thing, or if one changes a part of what the other one changes.
    """

    def __init__(self) -> None:
        self._changed: dict[Thing, Edit] = {}
        #: The wider things that contain the changed things, each with the edit that changes a part of it.
        self._within: dict[Thing, Edit] = {}

    def refuse(self, edit: Edit, things: Iterable[Thing]) -> None:
        """Add an edit, and refuse it if it conflicts with an earlier one.

        Raises InputError if the edit conflicts with an earlier one or changes the same thing twice.
        """
        own: set[Thing] = set()
        for thing in things:
            wider = [thing[:i] for i in range(1, len(thing))]
            others = (self._changed.get(each) for each in (thing, *wider))
            other = edit if thing in own else next((each for each in others if each is not None), None)
            other = other or self._within.get(thing)
            if other is not None:
                what = " ".join(str(part) for part in thing if part)
                if other is edit:
                    problem = f"contains {what} twice"
                else:
                    problem = "is given twice" if other == edit else f"conflicts with: {other}"
                raise InputError(problem, where=str(edit), hint="leave one of them out")
            own.add(thing)
        self._changed |= dict.fromkeys(own, edit)
        self._within |= dict.fromkeys((thing[:i] for thing in own for i in range(1, len(thing))), edit)
