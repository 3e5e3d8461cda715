"""The changes that can be tried. They take effect one after the other, in the order in which they are given."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.api.core import Taint
from kschedctl.api.meta import ApiObject
from kschedctl.findings.finding import Place


@dataclass(frozen=True, slots=True)
class Apply:
    """Objects laid over the cluster: one of the same kind and name gives way, a new name is added.

    Attributes
    ----------
    objects : tuple of (object, place)
        The objects, each with where it was read; the place is used in errors.
    copies : int or None
        That many new ones under fresh names instead (``NAME-1``, ``NAME-2``, ...): of nodes, with their CSINodes,
        and of pods, which wait for a node. ``None`` to apply the objects themselves.
    source : str
        What they were read from.
    """

    objects: tuple[tuple[ApiObject, Place], ...]
    copies: int | None = None
    source: str = ""

    def __str__(self) -> str:
        copies = "" if self.copies is None else f"*{self.copies}"
        return f"apply {self.source or 'objects'}{copies}"


@dataclass(frozen=True, slots=True)
class Delete:
    """An object gone, with what goes with it.

    A node takes its pods with it, a workload the pods that it made, a namespace all that is in it. Of a pod it is
    taken that nobody makes it anew.

    Attributes
    ----------
    kind : str
        As kubectl names it: ``pod``, ``deploy``, ``poddisruptionbudgets``.
    name : str
        Its name.
    namespace : str
        Its namespace, for kinds that have one; empty for the default one.
    """

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"delete {_target(self.kind, self.namespace, self.name)}"


@dataclass(frozen=True, slots=True)
class SetReplicas:
    """A workload of another size.

    Attributes
    ----------
    kind : str
        As kubectl names it: a Deployment, ReplicaSet, StatefulSet or ReplicationController.
    name : str
        Its name.
    replicas : int
        How many pods it shall have.
    namespace : str
        Its namespace; empty for the default one.
    """

    kind: str
    name: str
    replicas: int
    namespace: str = ""

    def __str__(self) -> str:
        return f"set replicas {_target(self.kind, self.namespace, self.name)}={self.replicas}"


@dataclass(frozen=True, slots=True)
class LabelNode:
    """A label of a node set, or with the value ``None`` taken away."""

    node: str
    key: str
    value: str | None

    def __str__(self) -> str:
        change = f"{self.key}-" if self.value is None else f"{self.key}={self.value}"
        return f"label {self.node}:{change}"


@dataclass(frozen=True, slots=True)
class TaintNode:
    """A taint put on a node, where it replaces one of the same key and effect, or taken away.

    Attributes
    ----------
    node : str
        The node.
    taint : Taint
        The taint. Of one to take away the value does not matter, and without an effect all of its key are meant.
    remove : bool
        Whether it is taken away.
    """

    node: str
    taint: Taint
    remove: bool = False

    def __str__(self) -> str:
        taint = self.taint
        if self.remove:
            return f"taint {self.node}:{taint.key}{':' if taint.effect else ''}{taint.effect}-"
        return f"taint {self.node}:{taint}"


@dataclass(frozen=True, slots=True)
class Cordon:
    """A node that takes no new pods."""

    node: str

    def __str__(self) -> str:
        return f"cordon {self.node}"


@dataclass(frozen=True, slots=True)
class Drain:
    """A node cordoned, and its pods evicted as ``kubectl drain --force`` would, without asking disruption budgets.

    Pods of DaemonSets and mirror pods stay. Pods that have a controller wait for a node again, the others are gone.
    """

    node: str

    def __str__(self) -> str:
        return f"drain {self.node}"


@dataclass(frozen=True, slots=True)
class FailZone:
    """All nodes of a zone gone. Their pods that have a controller wait for a node again, the others are gone."""

    zone: str

    def __str__(self) -> str:
        return f"fail zone {self.zone}"


Edit = Apply | Delete | SetReplicas | LabelNode | TaintNode | Cordon | Drain | FailZone


def _target(kind: str, namespace: str, name: str) -> str:
    return "/".join(part for part in (kind, namespace, name) if part)
