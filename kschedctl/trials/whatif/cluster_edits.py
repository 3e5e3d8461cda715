"""The what-if edits that change the cluster."""

from __future__ import annotations

import re
import sys
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.common.options import Option
from kschedctl.common.text.patterns import pattern
from kschedctl.sources.snapshot.validation import Validation
from kschedctl.trials.whatif.edit import Edit, FileEdit, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.common.findings import Finding, Place
    from kschedctl.objects.core import Node, Taint
    from kschedctl.objects.meta import ApiObject
    from kschedctl.objects.releases.release import Release
    from kschedctl.sources.snapshot.manifest import ManifestObject
    from kschedctl.trials.whatif.edit import Changed


_COPIES: Final = pattern(r"(.+)\*([0-9]+)", re.ASCII)
_MOST_COPIES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Apply(FileEdit):
    """An edit that overlays objects on the cluster: it replaces the object of the same kind and name, or adds one.

    Attributes
    ----------
    objects : tuple of (object, place)
        The objects, each with its position in the input, which errors report.
    copies : int or None
        The number of copies to add under new names (``NAME-1``, ``NAME-2``, ...) instead, from 1 to 10,000. Nodes are
        copied with their CSINodes and ResourceSlices, pods are copied as pending pods. ``None`` to apply the objects
        themselves.
    source : str
        The name of the file, or ``standard input``.
    warnings : tuple of Finding
        Fields that an API server would reject, if the validation mode only warns of them.
    read : tuple of ManifestObject
        The objects as they were written.
    """

    option: ClassVar[Option] = Option(
        "--apply",
        "FILE",
        "Answer as if these objects existed, replacing those of the same name; FILE*3 adds 3 copies; - is stdin.",
    )

    objects: tuple[tuple[ApiObject, Place], ...]
    copies: int | None = None
    source: str = ""
    warnings: tuple[Finding, ...] = field(default=(), compare=False)
    read: tuple[ManifestObject, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        copies = "" if self.copies is None else f"*{self.copies}"
        return f"apply {self.source or 'objects'}{copies}"

    @classmethod
    def parse(
        cls,
        text: str,
        namespace: str = "",
        *,
        validation: Validation = Validation.STRICT,
        max_unpacked: int | None = None,
    ) -> Self:
        """Parse ``FILE`` or ``FILE*COPIES`` and read the file; ``-`` is standard input.

        Raises
        ------
        InputError
            If the file cannot be read, or the number of copies is not in 1 to 10,000.
        """
        from kschedctl.objects.kinds import with_namespace
        from kschedctl.sources.snapshot.load import read_manifest
        from kschedctl.sources.snapshot.pod_choice import STDIN

        path, copies = split_source(text)
        stdin = sys.stdin.buffer if path == STDIN and sys.stdin is not None else None
        manifest = read_manifest(path, stdin=stdin, max_unpacked=max_unpacked, validation=validation)
        objects = tuple((with_namespace(obj, namespace), place) for obj, place in manifest.objects)
        return cls(objects, copies, "standard input" if path == STDIN else path, manifest.warnings, manifest.read)

    @classmethod
    def sources(cls, text: str) -> tuple[str, ...]:
        """Return the path of the file."""
        return (split_source(text)[0],)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Overlay the objects on the cluster, or add copies of them.

        Raises
        ------
        InputError
            If an API server would reject an object, or an object to be copied is neither a node nor a pod, nor a
            CSINode or ResourceSlice of a copied node.
        """
        from kschedctl.trials.whatif.effects import apply

        return apply(cluster, self.objects, self.copies, read=self.read, release=release)

    def things(self) -> Iterator[Thing]:
        """Yield the objects; nothing for copies, whose names are new and cannot conflict with another edit."""
        from kschedctl.trials.whatif.targets import thing

        if self.copies is None:
            for obj, _ in self.objects:
                yield thing(type(obj), obj.namespace, obj.name)


def split_source(text: str) -> tuple[str, int | None]:
    """Parse ``FILE`` or ``FILE*COPIES``.

    Raises InputError if the number of copies is not in 1 to 10,000.

    >>> split_source("node.yaml"), split_source("node.yaml*3")
    (('node.yaml', None), ('node.yaml', 3))
    """
    match = _COPIES.fullmatch(text)
    if match is None:
        return text, None
    copies = int(match[2])
    if not 1 <= copies <= _MOST_COPIES:
        raise InputError(f'"{text}": {copies} copies cannot be made', hint=f"give 1 to {_MOST_COPIES}")
    return match[1], copies


# ``--delete KIND/NAME``: deletes an object with the objects that depend on it.


@dataclass(frozen=True, slots=True)
class Delete(Edit):
    """An edit that deletes an object with the objects that depend on it.

    A node is deleted with its CSINode and ResourceSlices, and its pods are evicted; those with a controller other than
    a DaemonSet are recreated as pending pods. A workload is deleted with its pods, a namespace with all its objects. A
    deleted pod is not recreated, even if it has a controller.

    Attributes
    ----------
    kind : str
        The kind, in any form that kubectl accepts: ``pod``, ``deploy``, ``poddisruptionbudgets``.
    name : str
        The name of the object.
    namespace : str
        The namespace of the object, for namespaced kinds; empty for ``default``.
    """

    option: ClassVar[Option] = Option(
        "--delete", "KIND/NAME", "Answer as if this object were deleted; also KIND/NAMESPACE/NAME."
    )

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        from kschedctl.trials.whatif.targets import written_target

        return f"delete {written_target(self.kind, self.namespace, self.name)}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> Delete.parse("po/shop/web-1"), Delete.parse("node/node-3", "shop")
        (Delete(kind='po', name='web-1', namespace='shop'), Delete(kind='node', name='node-3', namespace=''))
        """
        from kschedctl.trials.whatif.targets import split_target

        return cls(*split_target(text, namespace))

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Delete the object.

        Raises
        ------
        InputError
            If the cluster has no object of that kind and name.
        """
        from kschedctl.trials.whatif.effects import delete

        return delete(cluster, self.kind, self.name, self.namespace, release=release)

    def things(self) -> Iterator[Thing]:
        """Yield the object."""
        from kschedctl.objects.kinds import kind_by_name
        from kschedctl.trials.whatif.targets import thing

        yield thing(kind_by_name(self.kind, custom=True), self.namespace, self.name)


# ``--set-replicas KIND/NAME=N``: changes the number of replicas of a workload.


@dataclass(frozen=True, slots=True)
class SetReplicas(Edit):
    """An edit that changes the number of replicas of a workload.

    Attributes
    ----------
    kind : str
        The kind, in any form that kubectl accepts: a Deployment, ReplicaSet, StatefulSet or ReplicationController.
    name : str
        The name of the workload.
    replicas : int
        The new number of replicas.
    namespace : str
        The namespace of the workload; empty for ``default``.
    """

    option: ClassVar[Option] = Option("--set-replicas", "KIND/NAME=N", "Answer as if this workload had N replicas.")

    kind: str
    name: str
    replicas: int
    namespace: str = ""

    def __str__(self) -> str:
        from kschedctl.trials.whatif.targets import written_target

        return f"set replicas {written_target(self.kind, self.namespace, self.name)}={self.replicas}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``KIND/NAME=N`` or ``KIND/NAMESPACE/NAME=N``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> SetReplicas.parse("deploy/web=9", "shop")
        SetReplicas(kind='deploy', name='web', replicas=9, namespace='shop')
        """
        from kschedctl.trials.whatif.targets import split_target

        target, equals, number = text.rpartition("=")
        if not equals or not re.fullmatch("[0-9]{1,10}", number):
            raise InputError(f'"{text}" has no number of replicas', hint="KIND/NAME=N, such as deployment/web=5")
        kind, name, found = split_target(target, namespace)
        return cls(kind, name, int(number), found)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Scale the workload: add pending pods or remove pods.

        Raises
        ------
        InputError
            If the workload does not exist or its kind has no replicas, or if there is neither a pod that could be
            copied nor a template, or if more than 10,000 pods would be added.
        """
        from kschedctl.objects.defaults import DEFAULT_NAMESPACE
        from kschedctl.trials.whatif.effects import set_replicas

        key = (self.namespace or DEFAULT_NAMESPACE, self.name)
        return set_replicas(cluster, self.kind, key, self.replicas, release=release)

    def things(self) -> Iterator[Thing]:
        """Yield the replicas of the workload."""
        from kschedctl.objects.kinds import kind_by_name
        from kschedctl.trials.whatif.targets import thing

        yield "replicas of", *thing(kind_by_name(self.kind), self.namespace, self.name)


# Base class of edits of nodes, which name one node or all nodes that match a glob such as ``gke-*``.


@dataclass(frozen=True, slots=True)
class NodeEdit(Edit):
    """A change of one node, or of all nodes that match a glob."""

    #: The node's name, or a glob with ``*``, ``?`` and ``[...]``, which no node name can contain.
    node: str

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``NODE`` or a glob."""
        return cls(text)

    @abstractmethod
    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the things that the edit changes on the node with this name."""

    def things(self) -> Iterator[Thing]:
        yield from self.things_of(self.node)

    def things_in(self, cluster: Cluster) -> Iterator[Thing]:
        names = cluster.nodes.names
        for row in self.rows(cluster):
            yield from self.things_of(names[row])

    def rows(self, cluster: Cluster) -> list[int]:
        """Return the rows of the matching nodes in the cluster's node table.

        Raises InputError if no node matches.
        """
        from kschedctl.trials.whatif.targets import find_nodes

        return find_nodes(cluster, self.node)


def nodes_in_words(cluster: Cluster, rows: Sequence[int], one: str, several: str) -> str:
    """Return a clause about one or more nodes: their number, their names and a verb.

    Args:
        rows: The rows of the nodes, at least one.
    """
    from kschedctl.common.wording import counted, listed

    names = [cluster.nodes.names[row] for row in rows]
    if len(names) == 1:
        return f"node {names[0]} {one}"
    return f"{counted(len(names), 'node')} ({listed(names)}) {several}"


# ``--cordon NODE``: marks a node unschedulable.


@dataclass(frozen=True, slots=True)
class Cordon(NodeEdit):
    """An edit that marks nodes unschedulable."""

    option: ClassVar[Option] = Option(
        "--cordon", "NODE", "Answer as if the node were cordoned; 'gke-*' means all matching nodes."
    )

    def __str__(self) -> str:
        return f"cordon {self.node}"

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Mark the nodes unschedulable."""
        from kschedctl.trials.whatif.nodes import cordoned

        rows = self.rows(cluster)
        n_before = sum(cluster.nodes.objects[row].spec.unschedulable for row in rows)
        change = nodes_in_words(cluster, rows, "is cordoned", "are cordoned")
        already = "already cordoned" if len(rows) == 1 else f"{n_before} already cordoned"
        change += f" ({already})" if n_before else ""
        return cordoned(cluster, rows), (change,)

    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the cordon of the node."""
        yield "cordon", node


# ``--drain NODE``: cordons a node and evicts its pods.


@dataclass(frozen=True, slots=True)
class Drain(NodeEdit):
    """An edit that cordons nodes and evicts their pods, as ``kubectl drain --force`` does.

    DaemonSets and emptyDir volumes do not stop the drain (``--ignore-daemonsets --delete-emptydir-data``), and
    PodDisruptionBudgets are ignored. Pods of DaemonSets and mirror pods stay. Other pods are recreated as pending pods
    if they have a controller; pods without a controller are removed without replacement.
    """

    option: ClassVar[Option] = Option(
        "--drain", "NODE", "Answer as if the node were drained; disruption budgets are ignored."
    )

    def __str__(self) -> str:
        return f"drain {self.node}"

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Mark the nodes unschedulable and evict their pods."""
        from kschedctl.trials.whatif.nodes import cordoned
        from kschedctl.trials.whatif.pods import evict, freed_in_words

        rows = self.rows(cluster)
        pods = [index for row in rows for index in cluster.pods.on_node(row).tolist()]
        evicted = evict(cordoned(cluster, rows), pods, release=release, node_bound_stay=True)
        change = nodes_in_words(cluster, rows, "is drained", "are drained")
        told = str(evicted) if pods or len(rows) == 1 else "no pod is on them"
        return evicted.cluster, (f"{change}: {told}", *freed_in_words(evicted.freed))

    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the drain of the node."""
        yield "drain", node


# ``--fail-zone ZONE``: removes all nodes of a zone.


@dataclass(frozen=True, slots=True)
class FailZone(Edit):
    """An edit that removes all nodes of a zone.

    Pods on these nodes are recreated as pending pods if they have a controller other than a DaemonSet; all other pods
    are removed without replacement. NodePools launch no nodes in the zone.
    """

    option: ClassVar[Option] = Option("--fail-zone", "ZONE", "Answer as if all nodes of this zone were gone.")

    zone: str

    def __str__(self) -> str:
        return f"fail zone {self.zone}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``ZONE``."""
        return cls(text)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Remove the nodes of the zone.

        Raises
        ------
        InputError
            If the cluster has no node in the zone.
        """
        from kschedctl.common.wording import counted
        from kschedctl.trials.whatif.nodes import closed, without_nodes
        from kschedctl.trials.whatif.pods import freed_in_words
        from kschedctl.trials.whatif.targets import find_zone

        rows = find_zone(cluster, self.zone)
        evicted = without_nodes(cluster, rows, release=release)
        change = f"zone {self.zone} fails with {counted(len(rows), 'node')}: {evicted}"
        return closed(evicted.cluster, self.zone), (change, *freed_in_words(evicted.freed))

    def things(self) -> Iterator[Thing]:
        """Yield the zone."""
        yield "zone", self.zone


# ``--label NODE:KEY=VALUE``: sets a label of a node or removes it.


@dataclass(frozen=True, slots=True)
class LabelNode(NodeEdit):
    """An edit that sets a label of nodes, or removes it if the value is ``None``."""

    option: ClassVar[Option] = Option(
        "--label", "NODE:KEY=VALUE", "Answer as if the node had this label; NODE:KEY- removes it."
    )

    key: str
    value: str | None

    def __str__(self) -> str:
        change = f"{self.key}-" if self.value is None else f"{self.key}={self.value}"
        return f"label {self.node}:{change}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``NODE:KEY=VALUE`` or ``NODE:KEY-``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> LabelNode.parse("node-1:disk=ssd"), LabelNode.parse("node-1:disk-")
        (LabelNode(node='node-1', key='disk', value='ssd'), LabelNode(node='node-1', key='disk', value=None))
        """
        from kschedctl.trials.whatif.targets import split_entry, split_node

        node, label = split_node(text, "NODE:KEY=VALUE or NODE:KEY-, such as node-1:disk=ssd")
        return cls(node, *split_entry(text, label, "label", "NODE:KEY=VALUE sets a label, NODE:KEY- removes it"))

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Set the label or remove it.

        Raises
        ------
        InputError
            If the label is to be removed and none of the nodes has it.
        """
        from kschedctl.common.wording import listed
        from kschedctl.trials.whatif.nodes import with_replaced

        nodes = {row: cluster.nodes.objects[row] for row in self.rows(cluster)}
        if self.value is None:
            having = {row: node for row, node in nodes.items() if self.key in node.metadata.labels}
            if not having:
                whose = nodes_in_words(cluster, list(nodes), "has", "have")
                known = sorted({key for node in nodes.values() for key in node.metadata.labels})
                labels = f"{'its' if len(nodes) == 1 else 'their'} labels are {listed(known)}"
                raise InputError(f"{whose} no label {self.key}", hint=labels)
            nodes = having
        before = sorted({label for node in nodes.values() if (label := node.metadata.labels.get(self.key)) is not None})
        if self.value is None:
            told = listed([f"{self.key}={value}" for value in before], "or")
            change = nodes_in_words(cluster, list(nodes), "no longer has", "no longer have") + f" the label {told}"
        else:
            change = nodes_in_words(cluster, list(nodes), "has", "have") + f" the label {self.key}={self.value}"
            others = [value or "an empty value" for value in before if value != self.value]
            change += f" instead of {listed(others, 'or')}" if others else ""
        return with_replaced(cluster, {row: self._labelled(node) for row, node in nodes.items()}), (change,)

    def _labelled(self, node: Node) -> Node:
        from msgspec.structs import replace

        labels = {key: value for key, value in node.metadata.labels.items() if key != self.key}
        if self.value is not None:
            labels[self.key] = self.value
        return replace(node, metadata=replace(node.metadata, labels=labels))

    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the label of the node."""
        yield "label", self.key, "of", node


# ``--taint NODE:KEY=VALUE:EFFECT``: adds a taint to a node or removes it.


@dataclass(frozen=True, slots=True)
class TaintNode(NodeEdit):
    """An edit that adds a taint to nodes, replacing one of the same key and effect, or removes it.

    Attributes
    ----------
    node : str
        The node's name, or a glob.
    taint : Taint
        The taint. For a removal its value is ignored, and an empty effect matches all taints of the key.
    remove : bool
        True to remove the taint.
    """

    option: ClassVar[Option] = Option(
        "--taint", "NODE:KEY=VALUE:EFFECT", "Answer as if the node had this taint; a trailing - removes it."
    )

    taint: Taint
    remove: bool = False

    def __str__(self) -> str:
        taint = self.taint
        if self.remove:
            return f"taint {self.node}:{taint.key}{':' if taint.effect else ''}{taint.effect}-"
        return f"taint {self.node}:{taint}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``NODE:KEY=VALUE:EFFECT``; the value may be missing, and with a trailing ``-`` also the effect.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> print(TaintNode.parse("node-1:gpu=true:NoSchedule"), TaintNode.parse("node-1:gpu-"), sep=" | ")
        taint node-1:gpu=true:NoSchedule | taint node-1:gpu-
        """
        from kschedctl.objects.core import Taint
        from kschedctl.trials.whatif.targets import check_effect, check_label, split_node

        expected = "NODE:KEY=VALUE:EFFECT, such as node-1:gpu=true:NoSchedule; a trailing - removes it"
        node, rest = split_node(text, expected)
        remove = rest.endswith("-")
        label, colon, effect = rest.removesuffix("-").partition(":")
        key, _, value = label.partition("=")
        if not colon and not remove:
            raise InputError(f'"{text}" has no effect of the taint, such as NoSchedule', hint=expected)
        if colon:
            check_effect(text, effect)
        check_label(text, key, value)
        return cls(node, Taint(key=key, value=value, effect=effect), remove)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Add the taint to the nodes or remove it.

        Pods that do not tolerate a new NoExecute taint are evicted. Pods that tolerate the taint for a limited time
        (``tolerationSeconds``) stay.

        Raises
        ------
        InputError
            If the taint is to be removed and none of the nodes has it.
        """
        from kschedctl.objects.pod import NO_EXECUTE, tolerated
        from kschedctl.trials.whatif.nodes import with_replaced
        from kschedctl.trials.whatif.pods import evict

        nodes = {row: cluster.nodes.objects[row] for row in self.rows(cluster)}
        if self.remove:
            from kschedctl.common.wording import listed
            from kschedctl.trials.whatif.nodes import with_replaced

            taken = {row: node for row, node in nodes.items() if any(map(self._is_same, node.spec.taints))}
            if not taken:
                its, it = ("its", "it has") if len(nodes) == 1 else ("their", "they have")
                known = sorted({str(old) for node in nodes.values() for old in node.spec.taints})
                has = f"{its} taints are {listed(known)}" if known else f"{it} no taints"
                raise InputError(f"{nodes_in_words(cluster, list(nodes), 'has', 'have')} no such taint", hint=has)
            gone = dict.fromkeys(str(old) for node in taken.values() for old in node.spec.taints if self._is_same(old))
            change = nodes_in_words(cluster, list(taken), "no longer has", "no longer have")
            cluster = with_replaced(cluster, {row: self._tainted(node) for row, node in taken.items()})
            return cluster, (f"{change} the taint {listed(list(gone))}",)
        change = f"{nodes_in_words(cluster, list(nodes), 'has', 'have')} the taint {self.taint}"
        cluster = with_replaced(cluster, {row: self._tainted(node) for row, node in nodes.items()})
        if self.taint.effect == NO_EXECUTE:
            records = cluster.pods.records
            leaving = [
                index
                for row, node in nodes.items()
                if self.taint not in node.spec.taints
                for index in cluster.pods.on_node(row).tolist()
                if not tolerated(records[index].spec.tolerations, self.taint)
            ]
            if leaving:
                evicted = evict(cluster, leaving, release=release, node_bound_stay=False)
                return evicted.cluster, (f"{change}: {evicted}",)
        return cluster, (change,)

    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the taint of the node; without an effect, one thing per effect."""
        from kschedctl.objects.pod import EFFECTS

        for each in (self.taint.effect,) if self.taint.effect else EFFECTS:
            yield "taint", f"{self.taint.key}:{each}", "of", node

    def _is_same(self, old: Taint) -> bool:
        """Report whether a taint is the one to be replaced or removed: same key and, if given, same effect."""
        return old.key == self.taint.key and self.taint.effect in ("", old.effect)

    def _tainted(self, node: Node) -> Node:
        from msgspec.structs import replace

        kept = tuple(old for old in node.spec.taints if not self._is_same(old))
        return replace(node, spec=replace(node.spec, taints=kept if self.remove else (*kept, self.taint)))
