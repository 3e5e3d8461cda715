"""What rules are asked about: the given set, whose rules apply, what is known of the platform and of a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kschedctl.lint.given import GivenObject, GivenSet
from kschedctl.lint.partial import TEMPLATES
from kschedctl.lint.platform import Platform
from kschedctl.lint.pods import Pods
from kschedctl.lint.replicas import Replicas, new_pods_first, replicas
from kschedctl.lint.values import Steps
from kschedctl.releases.release import LATEST, Release

if TYPE_CHECKING:
    from kschedctl.lint.against import Against


class Undecided(NamedTuple):
    """A rule that could not be decided for an object, and why."""

    rule: str
    object: str
    why: str


class PodTemplateOf(NamedTuple):
    """A kind of somebody else's that has a pod template, and where."""

    type: str
    template: Steps


@dataclass(eq=False)
class Context:
    """What rules are asked about.

    Attributes
    ----------
    given : GivenSet
        The objects.
    release : Release
        Whose rules apply.
    platform : str
        What the settings say; empty for nothing.
    complete : bool
        Whether all that will be in the cluster is given.
    custom : sequence of PodTemplateOf
        Kinds that the settings name.
    plugins : frozenset of str
        Scheduler plugins that the settings name.
    against : Against or None
        The snapshot.
    """

    given: GivenSet
    release: Release = LATEST
    platform: str = ""
    complete: bool = False
    custom: Sequence[PodTemplateOf] = ()
    plugins: frozenset[str] = frozenset()
    against: Against | None = None
    undecided: list[Undecided] = field(default_factory=list)

    @cached_property
    def templates(self) -> Mapping[str, tuple[Steps, bool]]:
        """Where kinds have their pod template, and whether the settings name them."""
        own = {type_: (steps, False) for type_, steps in TEMPLATES.items()}
        return {**{each.type: (each.template, True) for each in self.custom}, **own}

    @cached_property
    def pods(self) -> list[Pods]:
        """Whatever makes pods, but for partial objects."""
        return [pods for obj in self.given.whole if (pods := self._pods_of(obj)) is not None]

    @cached_property
    def _by_object(self) -> dict[GivenObject, Pods]:
        return {pods.obj: pods for pods in self.pods}

    def _pods_of(self, obj: GivenObject) -> Pods | None:
        found = self.templates.get(obj.type)
        if found is None:
            return None
        pods = Pods(obj, *found)
        return pods if pods.spec else None

    def pods_seen_from(self, obj: GivenObject) -> Iterator[Pods]:
        """The pods that a relation of an object looks at, in its namespace; a variant of the object is not one."""
        for type_ in self.templates:
            for other in self.given.beside(obj, type_):
                if other in self._by_object and not (other.key == obj.key and other is not obj):
                    yield self._by_object[other]

    @cached_property
    def _platform(self) -> Platform:
        cluster = self.against is not None and self.against.is_openshift
        return Platform(self.given, self.platform, cluster=cluster)

    def is_openshift(self, obj: GivenObject) -> bool:
        """Whether an object is meant for OpenShift."""
        return self._platform.is_openshift(obj)

    def replicas(self, pods: Pods) -> Replicas | None:
        """How many pods a workload has, where that can be told."""
        return replicas(pods, self.given)

    def new_pods_first(self, pods: Pods) -> Replicas | None:
        """How many pods a workload has whose rollouts start new ones first; ``None`` for all others."""
        return new_pods_first(pods, self.given)

    def cannot_decide(self, rule: str, obj: GivenObject, why: str) -> None:
        """Note that a rule is silent because something cannot be known."""
        self.undecided.append(Undecided(rule, obj.shown, why))

    def may_be_elsewhere(self, rule: str, obj: GivenObject) -> bool:
        """Whether what is not found may stand in a document that could not be read; that is noted."""
        broken = self.given.unreadable_near(obj)
        if broken is None:
            return False
        self.cannot_decide(rule, obj, f"{broken.location} could not be read")
        return True
