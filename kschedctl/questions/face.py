"""The public API of the package: a cluster that answers questions. Each method calls one analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from kschedctl.common.argument_types import with_checked_arguments
from kschedctl.common.frames import Frame, Library, ShownInNotebooks
from kschedctl.objects.meta import ApiObject
from kschedctl.questions.capacity.request import CapacityRequest
from kschedctl.questions.devices.request import DevicesRequest
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.explain.request import ExplainRequest
from kschedctl.questions.leader.request import LeaderRequest
from kschedctl.questions.method import Method
from kschedctl.questions.nodes.request import NodesRequest
from kschedctl.questions.optimum.request import OptimumRequest
from kschedctl.questions.pending.request import PendingRequest
from kschedctl.questions.preempt.request import PreemptRequest
from kschedctl.questions.rollout.request import RolloutRequest
from kschedctl.questions.simulate.request import SimulateRequest
from kschedctl.questions.verify.request import VerifyRequest
from kschedctl.questions.volumes.request import VolumesRequest
from kschedctl.trials.loaded_cluster import LoadedCluster

if TYPE_CHECKING:
    import pandas
    import polars

    from kschedctl.objects.pod import Pod
    from kschedctl.questions.diff.answer import Diff
    from kschedctl.questions.handle import AnalysisHandle
    from kschedctl.questions.preempt.answer import Threat
    from kschedctl.trials.whatif.edits import Edit

T = TypeVar("T", bound=ApiObject)


@with_checked_arguments
class SchedulingCluster(LoadedCluster, ShownInNotebooks):
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
        from dataclasses import replace

        from kschedctl.common.errors import InputError
        from kschedctl.controllers.disruption import with_computed_status
        from kschedctl.trials.simulate.simulated_cluster import newly_pending_pods
        from kschedctl.trials.whatif.edits import EDITS, WhatIfs, apply_edits

        names = [edit.option.name for edit in EDITS]
        for name in options:
            if name not in names:
                raise InputError(f'"{name}" is no what-if', hint=f"the what-ifs are {', '.join(names)}")
        texts = {name: (text,) if isinstance(text, str) else tuple(text) for name, text in options.items()}
        handle = _handle(None)
        parsed = WhatIfs(texts=texts).edits(handle.warn_of)
        made = apply_edits(self.cluster, (*edits, *parsed), release=self.release_choice.release)
        new = self.moved(with_computed_status(made.cluster))
        new.pod_edits = (*self.pod_edits, *made.pod_edits)
        new.snapshot = replace(
            new.snapshot,
            changes=(*self.snapshot.changes, *made.changes),
            made_pending=self.snapshot.made_pending.union(newly_pending_pods(self.cluster, made.cluster)),
        )
        return new

    explain = Method(ExplainRequest)

    preempt = Method(PreemptRequest)

    def threat(self, pod: str) -> Threat:
        """Report the pending pods that would evict a pod of the cluster, given as ``namespace/name``.

        Raises
        ------
        ManifestError
            If there is no such pod.
        """
        from kschedctl.questions.preempt.analysis import threat

        return threat(self, pod)

    capacity = Method(CapacityRequest)

    pending = Method(PendingRequest)

    nodes_overview = Method(NodesRequest)

    @overload
    def to_frame(self, of: Literal["nodes", "pods"], library: Literal["polars"]) -> polars.DataFrame: ...
    @overload
    def to_frame(self, of: Literal["nodes", "pods"], library: Literal["pandas"]) -> pandas.DataFrame: ...
    @overload
    def to_frame(self, of: Literal["nodes", "pods"], library: None = None) -> Frame: ...
    def to_frame(self, of: Literal["nodes", "pods"], library: Library | None = None) -> Frame:
        """Return the nodes or the unfinished pods as a data frame; docs/notebooks.md lists the columns.

        Parameters
        ----------
        of : {"nodes", "pods"}
            The rows: one per node by name, or one per pod in the order of the snapshot.
        library : {"polars", "pandas"}, optional
            The library of the frame; by default polars, or pandas if polars is not installed.

        Raises
        ------
        UnsupportedError
            If the library is not installed.

        Examples
        --------
        >>> import kschedctl
        >>> pods = kschedctl.load("fixtures/shop/cluster").to_frame("pods", "polars")
        >>> pods.filter(pods["node"].is_null())["requested.cpu_milli"].to_list()
        [500, 2500, 8000, 1000]
        """
        from kschedctl.questions.inventory.analysis import pods_table
        from kschedctl.questions.nodes.analysis import nodes_overview

        table = nodes_overview(self, NodesRequest(), _handle(None)) if of == "nodes" else pods_table(self)
        return table.to_frame(library)

    volumes = Method(VolumesRequest)

    devices = Method(DevicesRequest)

    def diff(
        self,
        other: LoadedCluster,
        pods: Iterable[Pod | Mapping[str, Any] | str | Path] | None = None,
        *,
        handle: AnalysisHandle | None = None,
    ) -> Diff:
        """Report the changes for pods from this cluster to another one.

        Pods that lose their node are placed one after another, the most important first; each other pod is decided
        for by itself.

        Parameters
        ----------
        other : LoadedCluster
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

        return diff(self, DiffRequest.of(self, other, pods), _handle(handle))

    verify = Method(VerifyRequest)

    simulate = Method(SimulateRequest)

    drain = Method(DrainRequest)

    rollout = Method(RolloutRequest)

    optimum = Method(OptimumRequest)

    leader = Method(LeaderRequest)

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
        captured = capture(ClusterReader(self.cluster, self.snapshot.summary))
        write_capture(with_pseudonyms(captured)[0] if anonymize else captured, target, force=force)


def _handle(handle: AnalysisHandle | None) -> AnalysisHandle:
    if handle is not None:
        return handle
    from kschedctl.questions.handle import AnalysisHandle

    return AnalysisHandle()
