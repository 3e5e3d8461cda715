"""The public API of the package: a cluster that answers questions. Each method calls one analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar, Union, overload

from kschedctl.common.argument_types import with_checked_arguments
from kschedctl.common.frames import Frame, Library, ShownInNotebooks
from kschedctl.objects.meta import ApiObject
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.method import Method
from kschedctl.trials.loaded_cluster import LoadedCluster

if TYPE_CHECKING:
    import pandas
    import polars

    from kschedctl.diagnosis.why.proof import Suggestion
    from kschedctl.objects.pod import Pod
    from kschedctl.questions.capacity.answer import PodCapacity
    from kschedctl.questions.devices.answer import DevicesOverview, DeviceSupply
    from kschedctl.questions.diff.answer import Diff
    from kschedctl.questions.explain.answer import Explanation
    from kschedctl.questions.handle import AnalysisHandle
    from kschedctl.questions.leader.answer import LeaderOverview
    from kschedctl.questions.nodes.answer import NodeDescription, NodesOverview
    from kschedctl.questions.optimum.answer import Emptied, Optimum, Purchased
    from kschedctl.questions.pending.answer import Pending
    from kschedctl.questions.preempt.answer import Preemption, Threat
    from kschedctl.questions.provenance import PodSubject
    from kschedctl.questions.rollout.answer import RolledOut
    from kschedctl.questions.simulate.answer import Simulated
    from kschedctl.questions.verify.answer import Verification
    from kschedctl.questions.volumes.answer import ClaimVolumes, PodVolumes
    from kschedctl.trials.optimum.goals import FinalGoal
    from kschedctl.trials.optimum.purchase import Catalog
    from kschedctl.trials.whatif.edits import Edit

T = TypeVar("T", bound=ApiObject)
#: A pod: an object, its manifest as data, ``namespace/name`` of a pod of the cluster, or the path of a manifest.
AnyPod: TypeAlias = Union["Pod", Mapping[str, Any], str, Path]


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

    def explain(
        self,
        pod: AnyPod,
        *,
        suggest: int | None = None,
        prefer: str = "",
        withstand: bool = False,
        sampling: bool = False,
        seed: int | None = None,
        handle: AnalysisHandle | None = None,
    ) -> Explanation:
        """Explain where a pod is scheduled to, or why it cannot be; a running pod is treated as if it were pending.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            The pod.
        suggest : int, optional
            The number of suggestions to look for, by default 5: changes with which the pod would fit.
        prefer : str
            A node; the answer lists the changes that would move the pod to it. Empty for none.
        withstand : bool
            True to add the failures of nodes and zones after which the pod still fits somewhere.
        sampling : bool
            True to end the search for feasible nodes as kube-scheduler does (``percentageOfNodesToScore``), from every
            possible start; by default all nodes are scored.
        seed : int, optional
            The seed of the random choice between equally good nodes, and of the start of the search; without it, the
            answer names all of them.

        Raises
        ------
        ManifestError
            If there is no such pod, or an API server would refuse it.
        """
        from kschedctl.questions.explain.analysis import ExplainRequest, explain

        request = ExplainRequest(
            pods=(self._asked(pod),), suggest=suggest, prefer=prefer, withstand=withstand, sampling=sampling, seed=seed
        )
        return next(explain(self, request, _handle(handle)))

    def suggest(self, pod: AnyPod, most: int | None = None) -> tuple[Suggestion, ...]:
        """Return the changes with which a pod would fit: the smallest single ones, else pairs; each was made and tried.

        Raises
        ------
        ManifestError
            As ``explain``.

        Examples
        --------
        >>> import kschedctl
        >>> for suggestion in kschedctl.load("fixtures/shop/cluster").suggest("shop/search-3", 2):
        ...     print(suggestion.summary, *suggestion.nodes)
        wait: preemption evicts batch/report-6 from node-8 node-8
        uncordon node node-9 node-9
        """
        from kschedctl.diagnosis.why.search import DEFAULT_MOST, suggest

        return suggest(self.decide(pod), DEFAULT_MOST if most is None else most).suggestions

    def preempt(self, pod: AnyPod, *, seed: int | None = None) -> Preemption:
        """Report the pods that a pod would evict, by node, and why the other nodes are no candidates.

        Raises
        ------
        ManifestError
            As ``explain``.

        Examples
        --------
        >>> import kschedctl
        >>> found = kschedctl.load("fixtures/shop/cluster").preempt("shop/search-3")
        >>> [(candidate.name, [victim.name for victim in candidate.victims]) for candidate in found.chosen]
        [('node-8', ['batch/report-6'])]
        """
        from kschedctl.questions.preempt.analysis import PreemptRequest, preempt

        (answer,) = preempt(self, PreemptRequest(pods=(self._asked(pod),), seed=seed), _handle(None))
        return answer

    def threat(self, pod: str) -> Threat:
        """Report the pending pods that would evict a pod of the cluster, given as ``namespace/name``.

        Raises
        ------
        ManifestError
            If there is no such pod.
        """
        from kschedctl.questions.preempt.analysis import threat

        return threat(self, pod)

    def capacity(self, pod: AnyPod, most: int | None = None, *, handle: AnalysisHandle | None = None) -> PodCapacity:
        """Count the copies of a pod that fit, one after another, and report what rejects the next one.

        Parameters
        ----------
        most : int, optional
            The number of copies after which the search ends.

        Raises
        ------
        ManifestError
            As ``explain``.

        Examples
        --------
        >>> import kschedctl
        >>> kschedctl.load("fixtures/shop/cluster").capacity("shop/web-7").copies
        9
        """
        from kschedctl.questions.capacity.analysis import CapacityRequest, capacity

        (answer,) = capacity(self, CapacityRequest(pods=(self._asked(pod),), most=most), _handle(handle))
        return answer

    def pending(
        self, *, namespace: str = "", selector: str = "", changes: int = 3, handle: AnalysisHandle | None = None
    ) -> Pending:
        """Report the pending pods by cause, and the few changes that would place most of them.

        Parameters
        ----------
        namespace : str
            The namespace of the pods; empty for all.
        selector : str
            A label selector; empty for all pods.
        changes : int
            The number of changes to look for, each proven in a simulation of the whole queue; 0 skips the search.

        Examples
        --------
        >>> import kschedctl
        >>> answer = kschedctl.load("fixtures/shop/cluster").pending()
        >>> [(group.name, len(group.pods)) for group in answer.groups], answer.fit
        ([('search', 1), ('report-7', 1), ('web', 1), ('train', 1)], ('ml/train-1', 'shop/web-7'))
        """
        from kschedctl.questions.pending.analysis import PendingRequest, pending

        request = PendingRequest(namespace=namespace, selector=selector, changes=changes)
        return pending(self, request, _handle(handle))

    def nodes_overview(
        self, nodes: str | Iterable[str] = (), *, selector: str = "", by: str = "taints", sort_by: str = "name"
    ) -> NodesOverview:
        """Report the free and allocatable capacity of nodes, one by one and in groups.

        Parameters
        ----------
        nodes : str or iterable of str
            Names and patterns such as ``node-*``; by default all nodes.
        selector : str
            A label selector; empty for all nodes.
        by : str
            The property that nodes of a group share: ``taints``, ``zone``, ``type``, ``pool``, or the key of a label.
        sort_by : str
            ``name``, or a resource: the node with the largest requested share comes first.

        Raises
        ------
        InputError
            If no node is selected, or no node has the property or the resource.

        Examples
        --------
        >>> import kschedctl
        >>> overview = kschedctl.load("fixtures/shop/cluster").nodes_overview(by="pool")
        >>> [(group.name, group.available, group.resources[0].largest_free) for group in overview.groups]
        [('general', 8, '2020m'), ('gpu', 6, '47610m')]
        """
        from kschedctl.questions.nodes.analysis import NodesRequest, nodes_overview

        names = (nodes,) if isinstance(nodes, str) else tuple(nodes)
        request = NodesRequest(names=names, selector=selector, by=by, sort_by=sort_by)
        return nodes_overview(self, request, _handle(None))

    def describe_node(self, name: str) -> NodeDescription:
        """Report the capacity of a node, the workloads that use it, its conditions and taints.

        Raises
        ------
        InputError
            If there is no such node.

        Examples
        --------
        >>> import kschedctl
        >>> node = kschedctl.load("fixtures/shop/cluster").describe_node("node-8")
        >>> node.summary, node.owners[0].owner
        ('node-8 is ready; free: 2.02 of 3.92 cpu and 10.88Gi of 14Gi memory.', 'Job batch/report-6')
        """
        from kschedctl.questions.nodes.analysis import describe_node

        return describe_node(self, name)

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

        table = self.nodes_overview() if of == "nodes" else pods_table(self)
        return table.to_frame(library)

    def volumes(self, pod: AnyPod) -> PodVolumes:
        """Report the volume that each claim of a pod has or would get, and the nodes on which all can be used together.

        Raises
        ------
        ManifestError
            As ``explain``.
        SnapshotError
            If a claim or volume is invalid.

        Examples
        --------
        >>> import kschedctl
        >>> answer = kschedctl.load("fixtures/volumes/conflict").volumes("shop/reports-6f7d8c9b5d-x2k4q")
        >>> answer.claims[0].name, answer.zones, answer.conflict
        ('shop/figures', ('eu-central-1b',), True)
        """
        from kschedctl.questions.volumes.analysis import VolumesRequest, volumes
        from kschedctl.questions.volumes.answer import PodVolumes

        (answer,) = volumes(self, VolumesRequest(subjects=(self._asked(pod),)), _handle(None))
        assert isinstance(answer, PodVolumes)
        return answer

    def claim(self, name: str) -> ClaimVolumes:
        """Report the volume that a claim, given as ``namespace/name``, has or would get, and the zones it ties pods to.

        Raises
        ------
        InputError
            If there is no such claim.
        SnapshotError
            If the claim or its volume is invalid.

        Examples
        --------
        >>> import kschedctl
        >>> kschedctl.load("fixtures/volumes/conflict").claim("shop/figures").claim.zones
        ('eu-central-1b',)
        """
        from kschedctl.objects.volume import PersistentVolumeClaim
        from kschedctl.questions.volumes.analysis import ClaimSubject, VolumesRequest, volumes
        from kschedctl.questions.volumes.answer import ClaimVolumes

        claim = ClaimSubject(self._named(PersistentVolumeClaim, name))
        (answer,) = volumes(self, VolumesRequest(subjects=(claim,)), _handle(None))
        assert isinstance(answer, ClaimVolumes)
        return answer

    def devices(self, claim: str = "", *, device_class: str = "") -> DevicesOverview | DeviceSupply:
        """Report all devices, or the nodes on which a ResourceClaim or a device of a DeviceClass can be allocated.

        Parameters
        ----------
        claim : str
            A ResourceClaim as ``namespace/name``; empty for none.
        device_class : str
            A DeviceClass; empty for none.

        Raises
        ------
        InputError
            If there is no such claim or class.
        ClusterError
            If the ResourceSlices could not be listed.
        """
        from kschedctl.objects.device import DeviceClass, ResourceClaim
        from kschedctl.questions.devices.analysis import DevicesRequest, devices

        subjects: list[ResourceClaim | DeviceClass] = []
        if claim:
            subjects.append(self._named(ResourceClaim, claim))
        if device_class:
            subjects.append(self._named(DeviceClass, device_class))
        return devices(self, DevicesRequest(subjects=tuple(subjects)), _handle(None))[0]

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

    def verify(
        self, before: LoadedCluster | None = None, *, sampling: bool = False, handle: AnalysisHandle | None = None
    ) -> Verification:
        """Compare the answers for all pods with those of the real scheduler, as far as the snapshot holds them.

        Parameters
        ----------
        before : LoadedCluster, optional
            The cluster as it was read, if edits have changed this one: differences that only edits cause do not count.
        sampling : bool
            True to compare the nodes of the pods that were scheduled last, up to 100, with the choices of every start
            of the search for feasible nodes (``percentageOfNodesToScore``).

        Raises
        ------
        InputError
            If pods are edited: the real scheduler has no answers for edited pods.
        ClusterError
            If the pods could not be listed.

        Examples
        --------
        >>> import kschedctl
        >>> found = kschedctl.load("fixtures/shop/cluster").verify()
        >>> found.equal, found.bound.feasible, found.bound.cordoned
        (True, 72, 1)
        """
        from kschedctl.questions.verify.analysis import VerifyRequest, verify

        return verify(self, VerifyRequest(before=before, sampling=sampling), _handle(handle))

    def simulate(
        self, pods: AnyPod | Iterable[AnyPod] = (), *, seed: int | None = None, handle: AnalysisHandle | None = None
    ) -> Simulated:
        """Run pods through the scheduler's queue, one after another: the pending ones, then new ones.

        Parameters
        ----------
        pods : Pod, mapping, str or Path, or iterable of them
            The new pods.
        seed : int, optional
            The seed of the random choice between equally good nodes; without it, the first by name is taken.

        Raises
        ------
        ManifestError
            As ``explain``.

        Examples
        --------
        >>> import kschedctl
        >>> kschedctl.load("fixtures/shop/cluster").simulate().summary
        '4 of 5 pods placed; 1 pending, 1 evicted'
        """
        from kschedctl.objects.pod import Pod
        from kschedctl.questions.simulate.analysis import SimulateRequest, simulate

        given = (pods,) if isinstance(pods, Pod | Mapping | str | Path) else tuple(pods)
        return simulate(self, SimulateRequest(pods=given, seed=seed), _handle(handle))

    drain = Method(DrainRequest)

    def rollout(self, workload: ApiObject, *, handle: AnalysisHandle | None = None) -> RolledOut:
        """Roll out a new revision of a Deployment or StatefulSet of the cluster with its own strategy.

        Parameters
        ----------
        workload : ApiObject
            The workload with its new template; ``kschedctl.trials.simulate.rollout.restarted`` makes one that repeats
            the old.

        Raises
        ------
        ManifestError
            If the workload is of another kind, is not in the cluster, or an API server would refuse it.

        Examples
        --------
        >>> import kschedctl
        >>> from kschedctl.objects.workload import Deployment
        >>> from kschedctl.trials.simulate.rollout import restarted
        >>> cluster = kschedctl.load("fixtures/pending/cluster.yaml")
        >>> cluster.rollout(restarted(cluster.cluster.get(Deployment, "web", "shop"))).summary.split(": ")[1]
        'the rollout stalls at step 3'
        """
        from kschedctl.questions.rollout.analysis import RolloutRequest, rollout

        return rollout(self, RolloutRequest(workload=workload), _handle(handle))

    def optimum(
        self, goal: FinalGoal | None = None, *, seconds: float | None = None, handle: AnalysisHandle | None = None
    ) -> Optimum:
        """Find the best placement of all pending pods at once, and compare it with the scheduler's own placement.

        Parameters
        ----------
        goal : FinalGoal, optional
            The last goal, which decides between placements that are equal in all other goals: the scheduler's own
            scores by default, or few nodes in use.
        seconds : float, optional
            The time limit of the solver, by default 60. After it, the answer is the best placement so far, with its
            bound.

        Raises
        ------
        InputError
            If the solver is not installed (the extra ``optimum``).

        Examples
        --------
        >>> import kschedctl
        >>> answer = kschedctl.load("fixtures/shop/cluster").optimum()
        >>> answer.placed, answer.multi_step_placed, answer.proven
        (3, 3, True)
        """
        from kschedctl.questions.optimum.analysis import TIME_LIMIT, OptimumRequest, optimum
        from kschedctl.trials.optimum.goals import FinalGoal

        return optimum(
            self,
            OptimumRequest(final=goal or FinalGoal.SCORES, seconds=TIME_LIMIT if seconds is None else seconds),
            _handle(handle),
        )

    def purchase(
        self, catalog: Catalog | str | Path, *, seconds: float | None = None, handle: AnalysisHandle | None = None
    ) -> Purchased:
        """Find the cheapest nodes of a catalog that place every pending pod, with no evictions.

        Parameters
        ----------
        catalog : Catalog, str or Path
            The kinds of nodes that can be bought, or the path of a file with them.
        seconds : float, optional
            The time limit of the solver, by default 60.

        Raises
        ------
        InputError
            If the catalog is wrong, or the solver is not installed (the extra ``optimum``).
        """
        from kschedctl.questions.optimum.analysis import TIME_LIMIT, purchase
        from kschedctl.trials.optimum.purchase import read_catalog

        kinds = read_catalog(str(catalog)) if isinstance(catalog, str | Path) else catalog
        return purchase(self, kinds, _handle(handle), seconds=TIME_LIMIT if seconds is None else seconds)

    def consolidate(self, *, seconds: float | None = None, handle: AnalysisHandle | None = None) -> Emptied:
        """Find the most nodes that can be emptied, and the order to drain them in.

        Parameters
        ----------
        seconds : float, optional
            The time limit of the solver, by default 60.

        Raises
        ------
        InputError
            If the solver is not installed (the extra ``optimum``).
        """
        from kschedctl.questions.optimum.analysis import TIME_LIMIT, consolidate

        return consolidate(self, _handle(handle), seconds=TIME_LIMIT if seconds is None else seconds)

    def leader(self, *, check_configuration: bool = False) -> LeaderOverview:
        """Report the leader of every election of the cluster, and the time at which another would take over.

        Parameters
        ----------
        check_configuration : bool
            True to check the configuration of the scheduler's own election against the Leases.

        Raises
        ------
        ClusterError
            If the Leases could not be listed.
        """
        from kschedctl.questions.leader.analysis import leader

        return leader(self, check_configuration=check_configuration)

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

    def _named(self, kind: type[T], name: str) -> T:
        """Return the object of a kind, given as ``namespace/name``, or by its name if the kind has no namespaces."""
        from kschedctl.trials.whatif.targets import find_object

        return find_object(self.cluster, kind, name)

    def _asked(self, pod: AnyPod) -> PodSubject:
        from kschedctl.questions.provenance import PodSubject

        found, where = self.written_pod(pod)
        return PodSubject(found, where=where)


def _handle(handle: AnalysisHandle | None) -> AnalysisHandle:
    if handle is not None:
        return handle
    from kschedctl.questions.handle import AnalysisHandle

    return AnalysisHandle()
