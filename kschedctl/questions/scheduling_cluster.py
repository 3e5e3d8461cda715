"""The public API of the package: a cluster that answers questions. A question is a method, made from its request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal, Self, TypeVar, overload

from msgspec.structs import replace

from kschedctl.common.argument_types import checked_arguments, with_checked_arguments
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location
from kschedctl.common.frames import Frame, Library, ShownInNotebooks, Tabular
from kschedctl.common.wording import counted
from kschedctl.objects.core import Node
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import loaded_cluster, read_snapshot
from kschedctl.questions.method import Method
from kschedctl.trials.loaded_cluster import LoadedCluster

if TYPE_CHECKING:
    import pandas
    import polars

    from kschedctl.questions.capacity.request import CapacityRequest
    from kschedctl.questions.consolidate.request import ConsolidateRequest
    from kschedctl.questions.devices.request import DevicesRequest
    from kschedctl.questions.diff.answer import Diff
    from kschedctl.questions.drain.request import DrainRequest
    from kschedctl.questions.explain.request import ExplainRequest
    from kschedctl.questions.leader.request import LeaderRequest
    from kschedctl.questions.nodes.request import NodesRequest
    from kschedctl.questions.optimum.request import OptimumRequest
    from kschedctl.questions.pending.request import PendingRequest
    from kschedctl.questions.preempt.answer import Threat
    from kschedctl.questions.preempt.request import PreemptRequest
    from kschedctl.questions.provision.request import ProvisionRequest
    from kschedctl.questions.rollout.request import RolloutRequest
    from kschedctl.questions.simulate.request import SimulateRequest
    from kschedctl.questions.verify.request import VerifyRequest
    from kschedctl.questions.volumes.request import VolumesRequest
    from kschedctl.scheduler.cycle.decision import Decision
    from kschedctl.sources.live.kubeconfig import LiveContext
    from kschedctl.trials.whatif.edits import Edit

T = TypeVar("T", bound=ApiObject)


class ObjectList(Sequence[T]):
    """Objects of one kind in a cluster, which a data frame can hold, too."""

    #: The word for one of them.
    _word: ClassVar[str]

    def __init__(self, engine: LoadedCluster) -> None:
        self.engine = engine

    def __repr__(self) -> str:
        return f"<{counted(len(self), self._word)}>"

    @overload
    def to_frame(self, library: Literal["polars"]) -> polars.DataFrame: ...
    @overload
    def to_frame(self, library: Literal["pandas"]) -> pandas.DataFrame: ...
    @overload
    def to_frame(self, library: None = None) -> Frame: ...
    def to_frame(self, library: Library | None = None) -> Frame:
        """Return a data frame with one row per object; docs/notebooks.md lists its columns.

        Nodes are in the order of their names, pods in that of the snapshot.

        Parameters
        ----------
        library : {"polars", "pandas"}, optional
            The library of the frame; by default polars, or pandas if polars is not installed.

        Raises
        ------
        UnsupportedError
            If the library is not installed.
        """
        return self._table().to_frame(library)

    def _table(self) -> Tabular:
        raise NotImplementedError


class NodeList(ObjectList[Node]):
    """The nodes of a cluster: by position, or by name. Called, it answers as the command ``nodes`` does.

    Examples
    --------
    >>> import kschedctl
    >>> nodes = kschedctl.load("fixtures/shop/cluster").nodes
    >>> len(nodes), nodes[0].name, nodes["node-8"].name, "node-8" in nodes
    (15, 'node-1', 'node-8', True)
    >>> nodes(by="pool").groups[0].available
    8
    """

    _word = "node"

    def __len__(self) -> int:
        return len(self.engine.nodes)

    @overload
    def __getitem__(self, which: int | str) -> Node: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[Node]: ...
    def __getitem__(self, which: int | str | slice) -> Node | Sequence[Node]:
        row = self.engine.nodes.find(which) if isinstance(which, str) else which
        return self.engine.nodes.objects[row]

    def __contains__(self, which: object) -> bool:
        return which in self.engine.nodes.row if isinstance(which, str) else which in self.engine.nodes.objects

    __call__ = Method(lambda: NodesRequest, "nodes")

    def _table(self) -> Tabular:
        from kschedctl.questions.nodes.analysis import nodes_overview
        from kschedctl.questions.nodes.request import NodesRequest

        return nodes_overview(self.engine, NodesRequest(), AnalysisHandle())


class PodList(ObjectList[Pod]):
    """The pods of a cluster that have not finished: by position, or as ``namespace/name``.

    Examples
    --------
    >>> import kschedctl
    >>> pods = kschedctl.load("fixtures/shop/cluster").pods
    >>> len(pods), pods["shop/web-6"].spec.node_name, "shop/none" in pods
    (77, 'node-6', False)
    >>> frame = pods.to_frame("polars")
    >>> frame.filter(frame["node"].is_null())["requested.cpu_milli"].to_list()
    [500, 2500, 8000, 1000]
    """

    _word = "pod"

    def __len__(self) -> int:
        return len(self.engine.pods)

    @overload
    def __getitem__(self, which: int | str) -> Pod: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[Pod]: ...
    def __getitem__(self, which: int | str | slice) -> Pod | Sequence[Pod]:
        pods = self.engine.pods
        if isinstance(which, slice):
            return [self._on_its_node(index) for index in range(len(pods))[which]]
        if not isinstance(which, str):
            return self._on_its_node(range(len(pods))[which])
        # Names are looked up as a question looks them up, with its error.
        from kschedctl.sources.snapshot.pod_choice import find_pod

        namespace, _, name = which.rpartition("/")
        found = find_pod(pods, name, namespace or DEFAULT_NAMESPACE)
        return self._on_its_node(pods.index[found.namespace, found.name])

    def __contains__(self, which: object) -> bool:
        if isinstance(which, str):
            namespace, _, name = which.partition("/")
            return (namespace, name) in self.engine.pods.index
        return super().__contains__(which)

    def __iter__(self) -> Iterator[Pod]:
        return map(self._on_its_node, range(len(self)))

    def _on_its_node(self, index: int) -> Pod:
        """Return a pod as it is in the cluster; pods that differ only in their node share a spec in the columns."""
        pods = self.engine.pods
        pod, node = pods.pod(index), pods.records[index].node_name
        return replace(pod, spec=replace(pod.spec, node_name=node)) if node else pod

    def _table(self) -> Tabular:
        from kschedctl.questions.inventory.analysis import pods_table

        return pods_table(self.engine)


@with_checked_arguments
class SchedulingCluster(ShownInNotebooks):
    """A cluster that answers questions; `kschedctl.load` makes one.

    A *pod* is an object, its manifest as data, ``namespace/name`` of a pod of the cluster, or the path of a manifest
    with one pod. Methods that take long have a ``handle`` (`kschedctl.AnalysisHandle`), which shows progress and can
    cancel them. Every answer has an ``outcome``.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("fixtures/shop/cluster")
    >>> answer = cluster.explain("shop/web-7")
    >>> answer.verdict.nodes, answer.outcome.yes
    (('node-8',), True)
    """

    def __init__(self, engine: LoadedCluster) -> None:
        #: The scheduler over the cluster, for programs that work with its columns and decisions.
        self.engine = engine

    def __repr__(self) -> str:
        return repr(self.engine).replace(type(self.engine).__name__, type(self).__name__, 1)

    @property
    def nodes(self) -> NodeList:
        """The nodes; called, the answer of the command ``nodes``."""
        return NodeList(self.engine)

    @property
    def pods(self) -> PodList:
        """The pods that have not finished."""
        return PodList(self.engine)

    capacity = Method(lambda: CapacityRequest)
    devices = Method(lambda: DevicesRequest)
    drain = Method(lambda: DrainRequest)
    explain = Method(lambda: ExplainRequest)
    leader = Method(lambda: LeaderRequest)
    optimum = Method(lambda: OptimumRequest)
    pending = Method(lambda: PendingRequest)
    preempt = Method(lambda: PreemptRequest)
    provision = Method(lambda: ProvisionRequest)
    consolidate = Method(lambda: ConsolidateRequest)
    rollout = Method(lambda: RolloutRequest)
    simulate = Method(lambda: SimulateRequest)
    verify = Method(lambda: VerifyRequest)
    volumes = Method(lambda: VolumesRequest)

    def decide(self, pod: Pod | Mapping[str, Any] | str | Path) -> Decision:
        """Run a scheduling cycle for a pod, and return the decision as the engine has it.

        Raises
        ------
        ManifestError
            If there is no such pod, or an API server would refuse it.
        """
        return self.engine.decide(pod)

    def threat(self, pod: str) -> Threat:
        """Report the pending pods that would evict a pod of the cluster, given as ``namespace/name``.

        Raises
        ------
        ManifestError
            If there is no such pod.
        """
        from kschedctl.questions.preempt.analysis import threat

        return threat(self.engine, pod)

    def diff(
        self,
        other: SchedulingCluster,
        pods: Iterable[Pod | Mapping[str, Any] | str | Path] | None = None,
        *,
        handle: AnalysisHandle | None = None,
    ) -> Diff:
        """Report the changes for pods from this cluster to another one.

        Pods that lose their node are placed one after another, the most important first; each other pod is decided
        for by itself.

        Parameters
        ----------
        other : SchedulingCluster
            The other cluster: another snapshot, or the same with other rules or edits.
        pods : iterable of Pod, mapping, str or Path, optional
            The pods; by default those that are pending in either cluster.

        Raises
        ------
        ManifestError
            As ``explain``, if neither cluster has a pod.

        Examples
        --------
        >>> import kschedctl
        >>> cluster = kschedctl.load("fixtures/shop/cluster")
        >>> drained = kschedctl.load("fixtures/shop/cluster", edits=[kschedctl.Cordon("node-8")])
        >>> for pod in cluster.diff(drained, ["shop/web-7"]).changed:
        ...     print(pod.key, pod.before.nodes, pod.after.nodes)
        shop/web-7 ('node-8',) ('node-5',)
        """
        from kschedctl.questions.diff.analysis import DiffRequest, diff

        given = (pods,) if isinstance(pods, Pod | Mapping | str | Path) else pods
        return diff(self.engine, DiffRequest.of(self.engine, other.engine, given), handle or AnalysisHandle())

    def what_if(self, *edits: Edit, **options: str | Iterable[str]) -> Self:
        """Return the cluster with changes to try; this cluster stays as it is.

        Parameters
        ----------
        *edits : Edit
            Changes as objects, such as ``kschedctl.Cordon("node-8")``.
        **options : str or iterable of str
            Changes as the what-if options of the commands write them: ``cordon="node-8"`` is ``--cordon node-8``,
            ``set_request=["cpu=1", "memory=2Gi"]`` is ``--set-request cpu=1 --set-request memory=2Gi``.

        Raises
        ------
        InputError
            If there is no such option, a value cannot be parsed, or a change cannot be made.

        Examples
        --------
        >>> import kschedctl
        >>> cluster = kschedctl.load("fixtures/shop/cluster")
        >>> cluster.what_if(cordon="node-8").explain("shop/web-7").verdict.nodes
        ('node-5',)
        >>> cluster.what_if(kschedctl.Cordon("node-[58]"), set_request="cpu=100m").explain("shop/web-7").verdict.nodes
        ('node-7',)
        """
        from kschedctl.trials.whatif.edits import EDITS, WhatIfs

        names = [edit.option.name for edit in EDITS]
        for name in options:
            if name not in names:
                raise InputError(f'"{name}" is no what-if', hint=f"the what-ifs are {', '.join(names)}")
        texts = {name: (text,) if isinstance(text, str) else tuple(text) for name, text in options.items()}
        return type(self)(self.engine.with_edits(*edits, *WhatIfs(texts=texts).edits(AnalysisHandle().warn_of)))

    def save(self, target: str | Path, *, anonymize: bool = False, force: bool = False) -> None:
        """Write the cluster with its what-ifs as a snapshot, without Secrets, environment values and arguments.

        Parameters
        ----------
        target : str or Path
            A file name that ends in ``.tar.gz`` or ``.tgz``, else a folder, which must be empty or not exist yet.
        anonymize : bool
            True to replace names with pseudonyms that change no decision.
        force : bool
            True to replace an earlier snapshot.

        Raises
        ------
        InputError
            If the target cannot be written.
        """
        from kschedctl.sources.snapshot.anonymize import with_pseudonyms
        from kschedctl.sources.snapshot.capture import ClusterReader, capture, check_target, write_capture

        check_target(str(target), force=force)
        captured = capture(ClusterReader(self.engine.cluster, self.engine.snapshot.summary))
        write_capture(with_pseudonyms(captured)[0] if anonymize else captured, target, force=force)


@checked_arguments
def load(
    *paths: str | Path,
    kubernetes_version: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    stdin: BinaryIO | None = None,
    more: Iterable[tuple[ApiObject, Location]] = (),
    live: LiveContext | None = None,
    edits: Sequence[Edit] = (),
    admission: bool = True,
    max_unpacked: int | None = None,
    call_extenders: bool = False,
    cluster: str = "",
) -> SchedulingCluster:
    """Load a cluster from a snapshot, or without one from the cluster of a kubectl context.

    Parameters
    ----------
    *paths : str or Path
        Files, folders and archives; ``-`` is standard input.
    kubernetes_version : str, optional
        The release whose rules apply, such as ``1.36``; by default the cluster's own version.
    feature_gates : mapping of str to bool, optional
        The scheduler's feature gates that differ from their defaults. The gates of pod groups are on by default if the
        cluster has PodGroups, and GenericWorkload is not given.
    config : str, Path or mapping, optional
        A KubeSchedulerConfiguration, as a file or as data.
    stdin : BinaryIO, optional
        Standard input.
    more : iterable of (object, place), optional
        Objects to add to those of the snapshot.
    live : LiveContext, optional
        The cluster to read if no paths are given; by default that of kubectl's current context.
    edits : sequence of Edit, optional
        Changes to try, such as ``kschedctl.Cordon("node-8")``, made one after the other: changes of the cluster, and of
        the pods that questions are about.
    admission : bool
        True if new pods go through admission before they are decided for; otherwise they only get their defaults.
    max_unpacked : int, optional
        The most bytes to unpack, or to read from a stream without a known end; by default 4 GiB, and no file may
        unpack to more than 250 times its size.
    call_extenders : bool
        True to call the configuration's extenders over HTTP; otherwise answers state that they were not called.
    cluster : str, optional
        The cluster to read, by its name or its path inside, if a folder or archive holds several.

    Raises
    ------
    InputError
        If an argument, or a file that it names, is invalid.
    ClusterError
        If a running cluster cannot be read.
    UnsupportedError
        If a version or feature gate is not modelled.

    Notes
    -----
    On Linux, several processes read a YAML file of 8 MiB or more, one per core, if the program runs no other threads.

    Examples
    --------
    >>> import kschedctl
    >>> cluster = kschedctl.load("fixtures/shop/cluster", kubernetes_version="1.36")
    >>> cluster
    <SchedulingCluster: 15 nodes, 77 pods, rules of Kubernetes 1.36>
    >>> decision = cluster.decide("shop/web-7")
    >>> decision.best, decision.message
    (('node-8',), '')
    """
    snapshot = read_snapshot(
        *paths,
        stdin=stdin,
        more=more,
        live=live,
        max_unpacked=max_unpacked,
        call_extenders=call_extenders,
        cluster=cluster,
    )
    engine = loaded_cluster(
        snapshot,
        kubernetes_version=kubernetes_version,
        feature_gates=feature_gates,
        config=config,
        edits=edits,
        admission=admission,
        call_extenders=call_extenders,
    )
    return SchedulingCluster(engine)
