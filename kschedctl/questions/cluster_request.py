"""The cluster that a request names: its source, the rules that apply to it, and the changes to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kschedctl.common.errors import SnapshotError
from kschedctl.common.findings import Location
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.meta import ApiObject
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import loaded_cluster, read_snapshot
from kschedctl.sources.snapshot.files import STDIN, open_stdin
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.edits import Apply, WhatIfs

if TYPE_CHECKING:
    from kschedctl.sources.live.kubeconfig import LiveContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSource:
    """The files of a snapshot, or a running cluster."""

    #: The snapshot; empty for a running cluster.
    paths: tuple[str, ...] = ()
    #: The cluster in the snapshot, by its name or its path inside; empty if there is only one.
    cluster: str = ""
    #: The context and the kubeconfig of the running cluster; empty for kubectl's own choice.
    context: str = ""
    #: The context and the kubeconfig of the running cluster; empty for kubectl's own choice.
    kubeconfig: str = ""
    #: The user to impersonate in the running cluster; empty for that of the kubeconfig.
    as_user: str = ""
    #: The groups to impersonate with ``as_user``.
    as_groups: tuple[str, ...] = ()
    #: The longest that a request may take, in seconds; ``None`` for the default.
    request_seconds: float | None = None
    #: The most bytes to unpack from the snapshot and from manifests; ``None`` for the default.
    max_bytes: int | None = None
    #: True to load the snapshot from the cache file of an earlier run, and to write that file. Standard input, and
    #: whole objects for extenders, are read every time.
    cache: bool = False
    #: The namespace in which a kind is listed that the user is not allowed to list in all namespaces; empty for
    #: that of the context.
    read_namespace: str = ""

    def read(self, handle: AnalysisHandle, *, call_extenders: bool = False) -> Snapshot:
        """Read the cluster.

        Args:
            call_extenders: True if extenders will be called; requests to them contain whole objects.

        Raises KschedctlError as ``kschedctl.load``.
        """
        if self.cache and call_extenders:
            handle.note("the cache is not used, because extenders get whole objects")
        # Reading a running cluster shows its own progress.
        with handle.busy("reading the snapshot") if self.paths else nullcontext():
            return read_snapshot(
                *self.paths,
                stdin=open_stdin() if STDIN in self.paths else None,
                live=None if self.paths else self.live(handle),
                max_unpacked=self.max_bytes,
                call_extenders=call_extenders,
                note_of_cache=handle.note if self.cache else None,
                cluster=self.cluster,
            )

    def live(self, handle: AnalysisHandle) -> LiveContext:
        """Return the running cluster, which shows the progress of its reading through the handle."""
        # Commands on files never import the client.
        from kschedctl.sources.live.kubeconfig import LiveContext
        from kschedctl.sources.live.limits import REQUEST_SECONDS

        seconds = REQUEST_SECONDS if self.request_seconds is None else self.request_seconds
        live = LiveContext(
            context=self.context,
            kubeconfig=self.kubeconfig,
            request_seconds=seconds,
            namespace=self.read_namespace,
            as_user=self.as_user,
            as_groups=self.as_groups,
        )
        return live if handle.show_line is None else replace(live, show_progress=handle.show_line)

    @property
    def namespace(self) -> str:
        """The namespace of names without one: ``default`` for a snapshot, else that of the context, or ``default``."""
        if self.paths:
            return DEFAULT_NAMESPACE
        from kschedctl.sources.live.kubeconfig import LiveContext, context_namespace

        return context_namespace(LiveContext(context=self.context, kubeconfig=self.kubeconfig)) or DEFAULT_NAMESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequest:
    """A cluster, the rules that apply to it, and the changes to try."""

    #: The source that the cluster is read from.
    source: ClusterSource = field(default_factory=ClusterSource)
    #: The path of a KubeSchedulerConfiguration; empty for the default.
    config: str = ""
    #: The Kubernetes release whose rules apply; empty for the cluster's own version.
    kubernetes_version: str = ""
    #: The feature gates that differ from their defaults.
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    #: The changes to try.
    what_ifs: WhatIfs = field(default_factory=WhatIfs)
    #: True if new pods go through admission.
    admission: bool = True
    #: True if the configuration's extenders are called.
    call_extenders: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """All paths that are read for the cluster."""
        return (*self.source.paths, *self.what_ifs.sources)

    def reading(self, namespace: str) -> ClusterRequest:
        """Return the request that reads a namespace where nothing else can be read, unless it names one."""
        if self.source.read_namespace:
            return self
        return replace(self, source=replace(self.source, read_namespace=namespace))

    def of_snapshot(self, path: str) -> ClusterRequest:
        """Return the request of another snapshot, with the same rules."""
        return replace(self, source=replace(self.source, paths=(path,), cluster=""))

    def read(self, handle: AnalysisHandle) -> Snapshot:
        """Read the snapshot that ``over`` runs a scheduler on; errors are those of ``kschedctl.load``."""
        return self.source.read(handle, call_extenders=self.call_extenders)

    def over(
        self,
        snapshot: Snapshot,
        handle: AnalysisHandle,
        manifests: Sequence[tuple[ApiObject, Location]] = (),
        written: OriginalObjects | None = None,
    ) -> LoadedCluster:
        """Return a scheduler over a snapshot, with the manifests' objects applied first and then the changes to try."""
        applied = (Apply(tuple(manifests), source="manifests"),) if manifests else ()
        return loaded_cluster(
            snapshot,
            kubernetes_version=self.kubernetes_version,
            feature_gates=self.feature_gates,
            config=self.config or None,
            edits=(*applied, *self.what_ifs.edits(handle.warn_of)),
            admission=self.admission,
            call_extenders=self.call_extenders,
            written=written,
        )

    def load(
        self,
        handle: AnalysisHandle,
        manifests: Sequence[tuple[ApiObject, Location]] = (),
        written: OriginalObjects | None = None,
    ) -> LoadedCluster:
        """Load the cluster, with the objects of manifests that are about to be applied overlaid on it.

        Args:
            written: The text that the manifests were read from.

        Raises KschedctlError as ``kschedctl.load``.
        """
        return self.over(self.read(handle), handle, manifests, written)

    def load_with_pods(self, handle: AnalysisHandle) -> LoadedCluster:
        """Load the cluster for a question about nodes and pods.

        Raises KschedctlError as ``kschedctl.load``, and if the cluster has no nodes or its pods could not be
            listed.
        """
        cluster = self.require_nodes(self.load(handle))
        require_listed(cluster.cluster, "Pod")
        return cluster

    def require_nodes(self, cluster: LoadedCluster) -> LoadedCluster:
        """Return the cluster, for a question whose answer is about nodes.

        Raises SnapshotError if the files hold no nodes, and state neither that there are none nor that they could
            not be listed: such files are not a snapshot of a cluster.
        """
        if self.source.paths and not (cluster.snapshot.nodes_told or len(cluster.nodes)):
            raise SnapshotError(
                "contains no nodes",
                where=", ".join(self.source.paths),
                hint="give one with nodes: kschedctl snapshot writes it, kubectl get nodes -o yaml prints them",
            )
        return cluster
