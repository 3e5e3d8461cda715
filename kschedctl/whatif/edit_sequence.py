"""Edits applied to a cluster one after the other: the cluster and the pods afterwards, and the changes in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import InputError
from kschedctl.findings.finding import Subject, Where, subject_of
from kschedctl.releases.release import Release
from kschedctl.whatif.edit import Edit, PodEdit, Thing


@dataclass(frozen=True, slots=True)
class Edited:
    """A cluster after some changes.

    Attributes
    ----------
    changes : tuple of str
        What was changed, a line each.
    pod_edits : tuple of PodEdit
        What is to be changed in the pods that are asked about.
    """

    cluster: Cluster
    changes: tuple[str, ...] = ()
    pod_edits: tuple[PodEdit, ...] = ()


def edited(cluster: Cluster, edits: Sequence[Edit], *, release: Release) -> Edited:
    """Make changes to a cluster, one after the other.

    Parameters
    ----------
    cluster : Cluster
        The cluster. It stays as it is.
    edits : sequence of Edit
        The changes. Those of pods come after those of the cluster.
    release : Release
        The release whose API server takes new pods.

    Raises
    ------
    InputError
        Where two changes contradict each other, or one is about something that is not there.
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
    return Edited(cluster, tuple(changes), pod_edits)


def edited_pod(pod: Pod, edits: Sequence[PodEdit], cluster: Cluster, *, where: Where = "") -> Pod:
    """Make changes to a pod, one after the other.

    Parameters
    ----------
    pod : Pod
        The pod. It stays as it is.
    edits : sequence of PodEdit
        The changes.
    cluster : Cluster
        The cluster that the pod is decided for in.
    where : Subject, Location or str
        Where the pod was read, for errors.

    Raises
    ------
    InputError
        Where the pod does not have what is to be changed.
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
    """The changes so far, by what they change: two of the same thing, or of one within the other, cannot be meant."""

    def __init__(self) -> None:
        self._changed: dict[Thing, Edit] = {}
        #: Of the changes so far, the things that what they change is within.
        self._within: dict[Thing, Edit] = {}

    def refuse(self, edit: Edit, things: Iterable[Thing]) -> None:
        """Take one more change in.

        Parameters
        ----------
        edit : Edit
            The change.
        things : iterable of tuple
            What it changes.

        Raises
        ------
        InputError
            Where it contradicts another one.
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
                    problem = f"{what} is in it twice"
                else:
                    problem = "is given twice" if other == edit else f"contradicts: {other}"
                raise InputError(problem, where=str(edit), hint="leave one of them out")
            own.add(thing)
        self._changed |= dict.fromkeys(own, edit)
        self._within |= dict.fromkeys((thing[:i] for thing in own for i in range(1, len(thing))), edit)
