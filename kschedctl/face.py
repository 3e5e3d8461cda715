"""The public face of the package: a cluster that is asked about pods. The commands are thin over it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from kschedctl.admission.chain import Admitted, admit
from kschedctl.api.defaults import DEFAULT_NAMESPACE
from kschedctl.api.device import ResourceClaim
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.selectors import SelectorError
from kschedctl.api.volume import PersistentVolumeClaim
from kschedctl.api.wording import counted
from kschedctl.api.workload import DaemonSet
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.devices.extended import without_extended_claim
from kschedctl.errors import InputError, SnapshotError
from kschedctl.findings.finding import Where, subject_of
from kschedctl.framework.config.load import SchedulerConfiguration
from kschedctl.framework.extender import Extender
from kschedctl.framework.registry import Registry
from kschedctl.plugins.dynamic_resources.allocation import with_allocated_claims
from kschedctl.plugins.registry import full_registry
from kschedctl.preemption.result import Candidate, PreemptionResult
from kschedctl.releases.choice import ReleaseChoice
from kschedctl.scheduler.aftermath import Aftermath, aftermath
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.difference import Difference
from kschedctl.scheduler.missing import Missing, find_missing, require_listed
from kschedctl.scheduler.pending import Exposure, pending_pods, threat
from kschedctl.scheduler.prefer import Preference, prefer
from kschedctl.scheduler.recording import recorded_case
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.scheduler.tracking import Track, untracked
from kschedctl.scheduler.verify import Verification, verify
from kschedctl.scheduler.withstand import Withstanding, withstand
from kschedctl.simulate.capacity import Capacity, Copy, capacity
from kschedctl.simulate.choice import Choose, first_by_name
from kschedctl.simulate.rolling import Rollout
from kschedctl.simulate.rollout import roll_out
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.world import World
from kschedctl.snapshot.load import Snapshot
from kschedctl.snapshot.pod_choice import defaulted, find_pod, given_pod, is_manifest
from kschedctl.volumeview.overview import ClaimOverview, PodOverview, VolumeOverview
from kschedctl.whatif.edit import PodEdit
from kschedctl.whatif.editing import edited_pod
from kschedctl.whatif.targets import not_found
from kschedctl.why.proof import Suggestion
from kschedctl.why.search import DEFAULT_MOST, suggest
from kschedctl.why.unblocking import MOST as MOST_CHANGES
from kschedctl.why.unblocking import Unblocked, unblock
from kschedctl.why.waiting import WaitingGroup, waiting_groups
from kschedctl.workloads.claims import renamed
from kschedctl.workloads.made import MadePod
from kschedctl.workloads.ownership import pods_made_by
from kschedctl.workloads.pods import pods_of


class SchedulingCluster:
    """A cluster with a scheduler over it.

    Parameters
    ----------
    snapshot : Snapshot
        The cluster and what its files told besides.
    release_choice : ReleaseChoice
        Whose rules apply, and why.
    configuration : SchedulerConfiguration, optional
        Profiles and their plugins; by default kube-scheduler's own.
    registry : Registry, optional
        The plugins that there are; by default the in-tree ones and those of installed packages.
    admission : bool
        Whether new pods go through admission before they are decided for; else they only get their defaults.
    pod_edits : sequence of PodEdit
        Changes to try in the pods that are asked about: those of manifests before admission, as if the manifest said
        so, and those of the cluster as they are stored, without another admission.
    extenders : sequence of Extender
        The configuration's extenders, where they are asked.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        release_choice: ReleaseChoice,
        configuration: SchedulerConfiguration | None = None,
        registry: Registry | None = None,
        *,
        admission: bool = True,
        pod_edits: Sequence[PodEdit] = (),
        extenders: Sequence[Extender] = (),
    ) -> None:
        self.snapshot = snapshot
        self.admission = admission
        self.pod_edits = tuple(pod_edits)
        self.release_choice = release_choice
        self.registry = registry if registry is not None else full_registry()
        self._scheduler = Scheduler(
            snapshot.cluster, release_choice.release, configuration, self.registry, extenders=extenders
        )

    def __repr__(self) -> str:
        size = f"{counted(len(self.nodes), 'node')}, {counted(len(self.pods), 'pod')}"
        changed = f", {counted(len(self.snapshot.changes), 'change')}" if self.snapshot.changes else ""
        return f"<SchedulingCluster: {size}, rules of Kubernetes {self.release_choice.release.version}{changed}>"

    @property
    def cluster(self) -> Cluster:
        """The cluster as columns."""
        return self.snapshot.cluster

    @property
    def nodes(self) -> Nodes:
        """The nodes, a row each."""
        return self.cluster.nodes

    @property
    def pods(self) -> Pods:
        """The pods that have not finished."""
        return self.cluster.pods

    @property
    def configuration(self) -> SchedulerConfiguration:
        """The scheduler's configuration."""
        return self._scheduler.configuration

    def explain(self, pod: Pod | Mapping[str, Any] | str | Path) -> Decision:
        """Decide where a pod goes, or why it cannot.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            The pod: an object, its manifest as data, ``namespace/name`` of a pod of the cluster, or the path of a
            manifest with one pod.

        Returns
        -------
        Decision
            A pod of the cluster that runs is decided for as if it did not run yet; one of the same name as a new
            one gives way to it.

        Raises
        ------
        ManifestError
            Where there is no such pod, or it is not one that an API server would take.
        """
        return self.decide(self.admit(pod).pod)

    def preempt(self, pod: Pod | Mapping[str, Any] | str | Path) -> PreemptionResult | None:
        """Whom a pod would evict, on which nodes, and why not on others.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``explain``.

        Returns
        -------
        PreemptionResult or None
            ``None`` where preemption is not asked: the pod fits, or is not tried at all. It is the ``preemption`` of
            the decision, whose ``victims`` name the pods.

        Raises
        ------
        ManifestError
            As ``explain``.

        Examples
        --------
        >>> import kschedctl
        >>> cluster = kschedctl.load("fixtures/shop/cluster")
        >>> found = cluster.preempt("shop/search-3")
        >>> found.nominated, len(found.candidates)
        (('node-8',), 3)
        >>> dict(cluster.explain("shop/search-3").victims)
        {'node-8': ('batch/report-6',)}
        """
        return self.explain(pod).preemption

    def suggest(self, pod: Pod | Mapping[str, Any] | str | Path, most: int = DEFAULT_MOST) -> tuple[Suggestion, ...]:
        """What would make a pod fit: the smallest single changes, else pairs; each was made and tried.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``explain``.
        most : int
            So many are enough.

        Returns
        -------
        tuple of Suggestion
            The smallest and safest first; none where the pod fits, or nothing of the kinds that are tried helps.

        Raises
        ------
        ManifestError
            As ``explain``.

        Examples
        --------
        >>> import kschedctl
        >>> for suggestion in kschedctl.load("fixtures/shop/cluster").suggest("shop/search-3", 2):
        ...     print(suggestion.summary, *suggestion.nodes)
        request 2.02 cpu or less instead of 2.5 node-8
        tolerate nvidia.com/gpu=present:NoSchedule gpu-6
        """
        return suggest(self.explain(pod), most).suggestions

    def pending(
        self, pods: Iterable[Pod] | None = None, most: int = MOST_CHANGES
    ) -> tuple[tuple[WaitingGroup, ...], Unblocked | None]:
        """The pods that wait, by cause, and the few changes that would place most of them.

        Parameters
        ----------
        pods : iterable of Pod, optional
            Pods of the cluster that wait; by default all.
        most : int
            So many changes are enough; for 0 nothing is looked for.

        Returns
        -------
        groups : tuple of WaitingGroup
            The pods, the largest groups first.
        found : Unblocked or None
            Each change was tried in a simulation of the whole queue.

        Examples
        --------
        >>> import kschedctl
        >>> groups, found = kschedctl.load("fixtures/shop/cluster").pending()
        >>> [(group.workload[2], len(group.pods)) for group in groups], found.anyway
        ([('search', 1), ('report-7', 1), ('web', 1), ('train', 1)], ('ml/train-1', 'shop/web-7'))
        """
        scheduler = self._with_edited_pending()
        asked = None if pods is None else {pod.key for pod in pods}
        waiting = (scheduler.cluster.pods.pod(index) for index in pending_pods(scheduler.cluster))
        groups = tuple(waiting_groups(scheduler, [pod for pod in waiting if asked is None or pod.key in asked]))
        return groups, unblock(scheduler, groups, most) if most and groups else None

    def volumes(self, pod: Pod | Mapping[str, Any] | str | Path) -> PodOverview:
        """The claims of a pod: the volume that each has or would get, and from which nodes they can be used together.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``explain``.

        Returns
        -------
        PodOverview
            Its ``claims``, each a ClaimOverview, and its ``nodes``.

        Raises
        ------
        ManifestError
            As ``explain``.
        SnapshotError
            Where a claim or volume cannot be understood.

        Examples
        --------
        >>> import kschedctl
        >>> cluster = kschedctl.load("fixtures/volumes/conflict")
        >>> found = cluster.volumes("shop/reports-6f7d8c9b5d-x2k4q")
        >>> found.claims[0].claim.name, found.zones, found.conflict
        ('figures', ('eu-central-1b',), True)
        """
        found = self.find(pod)
        try:
            return VolumeOverview(self.cluster).pod(found)
        except SelectorError as error:
            raise SnapshotError(str(error), path=error.path) from None

    def claim(self, name: str) -> ClaimOverview:
        """A claim of the cluster, given as ``namespace/name``: the volume that it has or would get, and for what zones.

        Raises
        ------
        InputError
            Where there is no such claim.
        SnapshotError
            Where it or a volume cannot be understood.

        Examples
        --------
        >>> import kschedctl
        >>> kschedctl.load("fixtures/volumes/conflict").claim("shop/figures").zones
        ('eu-central-1b',)
        """
        namespace, _, own = name.rpartition("/")
        key = namespace or DEFAULT_NAMESPACE, own
        claim = self.cluster.get(PersistentVolumeClaim, own, key[0])
        if claim is None:
            known = {(each.namespace, each.name) for each in self.cluster.list(PersistentVolumeClaim)}
            raise not_found(PersistentVolumeClaim, key, known)
        try:
            return VolumeOverview(self.cluster).claim(claim)
        except SelectorError as error:
            raise SnapshotError(str(error), path=error.path) from None

    def diff(
        self, other: SchedulingCluster, pods: Iterable[Pod | Mapping[str, Any] | str | Path] | None = None
    ) -> tuple[Difference, ...]:
        """What another cluster decides otherwise for pods, each by itself.

        The command ``diff`` also lets pods that lose their node take the place that they find, one after another.

        Parameters
        ----------
        other : SchedulingCluster
            The other cluster: another snapshot, or the same with other rules or edits.
        pods : iterable of Pod, mapping, str or Path, optional
            As for ``explain``; by default those that wait for a node on either side, in both as far as they are there.

        Returns
        -------
        tuple of Difference
            Those for which anything differs: outcome, nodes, victims or message.

        Raises
        ------
        ManifestError
            As ``explain``, where neither side has a pod.

        Examples
        --------
        >>> import kschedctl
        >>> cluster = kschedctl.load("fixtures/shop/cluster")
        >>> drained = kschedctl.load("fixtures/shop/cluster", edits=[kschedctl.Cordon("node-8")])
        >>> for difference in cluster.diff(drained, ["shop/web-7"]):
        ...     print(difference.pod, difference.before.best, difference.after.best)
        shop/web-7 ('node-8',) ('node-5',)
        """
        if pods is None:
            waiting = (side.pods.key(index) for side in (self, other) for index in pending_pods(side.cluster))
            pods = dict.fromkeys(waiting)
        found = []
        for pod in pods:
            before, after = self._decided(pod, other), other._decided(pod, self)
            decision = before or after
            if decision is not None:
                found.append(Difference(decision.pod.key, before, after))
        return tuple(difference for difference in found if difference.what)

    def _decided(self, pod: Pod | Mapping[str, Any] | str | Path, other: SchedulingCluster) -> Decision | None:
        """The decision for a pod; ``None`` for one that only the other side has, or no profile is responsible for."""
        if isinstance(pod, str) and not is_manifest(pod):
            namespace, _, name = pod.rpartition("/")
            key = namespace or DEFAULT_NAMESPACE, name
            if key not in self.pods.index and key in other.pods.index:
                return None
        admitted = self.admit(pod).pod
        return self.decide(admitted) if admitted.spec.scheduler_name in self.configuration.profiles else None

    def admit(self, pod: Pod | Mapping[str, Any] | str | Path, *, where: Where = "") -> Admitted:
        """The pod that is meant as the scheduler sees it, and what admission did to it; as for ``explain``.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``explain``.
        where : Subject, Location or str
            Where the pod was read, for errors.
        """
        written, given = self._given(pod, where)
        found, where = defaulted(written, given)
        maker = subject_of(given).object
        if maker is not None and maker.kind != "Pod":
            # What is wrong with its pods is told of the workload that was read.
            where = given
        index = self._index(found)
        # A pod of the snapshot that has a priority was admitted when it was made.
        is_known = index is not None and found == defaulted(self.pods.pod(index), "")[0]
        if (is_known and found.spec.priority is not None) or not self.admission:
            return Admitted(self._edited(found, where), (), (), ())
        before = [edit for edit in self.pod_edits if not edit.after_admission]
        after = [edit for edit in self.pod_edits if edit.after_admission]
        written = edited_pod(written, before, self.cluster, where=where)
        release = self.release_choice.release
        admitted = admit(written, self.cluster, release=release, where=where, created=not is_known)
        return replace(admitted, pod=edited_pod(admitted.pod, after, self.cluster, where=where)) if after else admitted

    def decide(self, pod: Pod) -> Decision:
        """Decide for a pod that went through admission; ``explain`` is this for any pod."""
        scheduler = self._scheduler
        index = self._index(pod)
        if index is not None and self.pods.node_row[index] >= 0:
            others = without_extended_claim(self.cluster, pod).with_pods(removed=[index])
            scheduler = scheduler.moved(others)
        return scheduler.explain(pod)

    def simulate(
        self,
        pods: Iterable[Pod | Mapping[str, Any] | str | Path] = (),
        *,
        choose: Choose = first_by_name,
        world: World | None = None,
    ) -> Simulation:
        """Put pods through the scheduler's queue, one after another: those given, behind those that wait already.

        Parameters
        ----------
        pods : iterable of Pod, mapping, str or Path
            New pods, each as for ``explain``.
        choose : callable
            Settles chance: is given the pod and the names of the nodes that it can go to, and returns one of them. By
            default the first by name; see ``kschedctl.simulate.choice``.
        world : World, optional
            What acts besides the scheduler; by default everything that is modelled.

        Returns
        -------
        Simulation
            Iterating over it runs it, attempt by attempt; what it knows in between are its attributes.

        Examples
        --------
        >>> import kschedctl
        >>> cluster = kschedctl.load("fixtures/shop/cluster")
        >>> for attempt in cluster.simulate():
        ...     print(attempt.pod, attempt.node or f"waits for {attempt.nominated}", *attempt.victims)
        shop/search-3 waits for node-8 batch/report-6
        shop/web-7 node-5
        ml/train-1 gpu-5
        batch/report-6-xxxxx node-7
        shop/search-3 node-8
        """
        simulation = Simulation(self._with_edited_pending(), choose=choose, world=world)
        simulation.enqueue_pending()
        simulation.create(self.admit(pod).pod for pod in pods)
        return simulation

    def _with_edited_pending(self) -> Scheduler:
        """The scheduler over the cluster whose pods that wait are as the edits make them: they are asked about."""
        if not self.pod_edits:
            return self._scheduler
        waiting = (self.pods.pod(index) for index in pending_pods(self.cluster))
        changed = [new for pod in waiting if (new := self._edited(pod, pod.ref)) != pod]
        return self._scheduler.moved(self.cluster.with_pods(added=changed)) if changed else self._scheduler

    def rollout(self, workload: ApiObject, *, choose: Choose = first_by_name, where: Where = "") -> Rollout:
        """Bring a new revision of a workload of the cluster in, through the workload's own strategy.

        Parameters
        ----------
        workload : Deployment or StatefulSet
            The workload with its new template; ``kschedctl.simulate.rollout.restarted`` gives it the old one anew.
        choose : callable
            Settles chance, as for ``simulate``.
        where : Subject, Location or str
            Where it was read, for errors.

        Raises
        ------
        ManifestError
            For another kind, where the cluster has no such workload, and where an API server would not take it.
        """
        return roll_out(
            self._scheduler, workload, admit=lambda pod: self.admit(pod, where=where).pod, choose=choose, where=where
        )

    def capacity(self, copy: Copy, most: int | None = None) -> Capacity:
        """Count how many copies of a pod more fit, one after another, and what stops the next one.

        Parameters
        ----------
        copy : callable
            Gives the copy of a number, from 0: a pod that went through admission, with a name of its own.
        most : int, optional
            No more than so many are looked for.
        """
        return capacity(self._scheduler, copy, most)

    def pods_of(self, workload: ApiObject, *, where: Where = "") -> tuple[MadePod, ...]:
        """The pods that a controller would make of a workload, to be explained with ``with_made``.

        The controller of a DaemonSet deletes the pod of a node before it makes another one there: the new pod has its
        name, so that it gives way.

        Raises
        ------
        ManifestError
            Where it is none, or not one that an API server would take.
        """
        made = pods_of(workload, self.cluster, where=where)
        if not isinstance(workload, DaemonSet):
            return made
        own = pods_made_by(self.cluster, DaemonSet, workload.namespace or DEFAULT_NAMESPACE, workload.name)
        names = {self.pods.records[i].node_name: self.pods.records[i].metadata.name for i in own}
        return tuple(renamed(one, names[one.node], self.cluster) if one.node in names else one for one in made)

    def with_made(self, made: Iterable[MadePod]) -> SchedulingCluster:
        """The cluster with what comes with some pods: their controllers and claims. It has not the pods themselves."""
        objects = [obj for one in made for obj in one.objects]
        return self.over(self.cluster.with_added(objects)) if objects else self

    def with_replica(self, pod: Pod, name: str) -> tuple[SchedulingCluster, Pod]:
        """Another one of a workload's pods that differ in their names alone, and the cluster with its claims.

        Parameters
        ----------
        pod : Pod
            The first of them, whose claims are in the cluster.
        name : str
            The name of the other one.
        """
        if name == pod.name:
            return self, pod
        stored = (
            self.cluster.get(ResourceClaim, status.resource_claim_name, pod.namespace or DEFAULT_NAMESPACE)
            for status in pod.status.resource_claim_statuses
        )
        objects = tuple(claim for claim in stored if claim is not None)
        made = renamed(MadePod(pod, objects=objects), name, self.cluster)
        return self.with_made([made]), made.pod

    def with_bound(self, decision: Decision, node: str) -> SchedulingCluster:
        """The cluster once a pod runs on a node that it fits on, with the devices of its claims.

        What else comes of it, such as volumes that are made, is not in it.

        Parameters
        ----------
        decision : Decision
            What was decided in this cluster for a pod, which may be in it and wait.
        """
        pod = decision.pod
        cluster = with_allocated_claims(self.cluster, pod, decision.state, self.nodes.row[node])
        bound = structs.replace(pod, spec=structs.replace(pod.spec, node_name=node))
        return self.over(cluster.with_pods(added=[bound]))

    def moved(self, cluster: Cluster) -> SchedulingCluster:
        """The same scheduler over a cluster that was derived from this one's: what it has found out goes along."""
        new = copy(self)
        new.snapshot = replace(self.snapshot, cluster=cluster)
        new._scheduler = self._scheduler.moved(cluster)
        return new

    def over(self, cluster: Cluster) -> SchedulingCluster:
        """The same rules over any other cluster."""
        return SchedulingCluster(
            replace(self.snapshot, cluster=cluster),
            self.release_choice,
            self.configuration,
            self.registry,
            admission=self.admission,
            pod_edits=self.pod_edits,
            extenders=self._scheduler.extenders,
        )

    def aftermath(self, decision: Decision, candidate: Candidate) -> Aftermath:
        """What follows when a decision's preemption takes a candidate."""
        return aftermath(self._scheduler.moved(decision.cluster), decision, candidate)

    def prefer(self, decision: Decision, node: str) -> Preference:
        """What would move the pod of a decision to a node that it fits on.

        Raises
        ------
        InputError
            Where the cluster has no such node.
        """
        return prefer(self._scheduler.moved(decision.cluster), decision, node)

    def withstand(self, decision: Decision) -> Withstanding | None:
        """How many failures of nodes and zones the pod of a decision can stand; ``None`` where it goes nowhere."""
        return withstand(self._scheduler.moved(decision.cluster), decision)

    def threat(self, pod: str) -> Exposure:
        """Which pending pods would evict a pod of the cluster, given as ``namespace/name``.

        Raises
        ------
        ManifestError
            Where there is no such pod.
        """
        namespace, _, name = pod.rpartition("/")
        require_listed(self.cluster, "Pod")
        victim = find_pod(self.pods, name, namespace or DEFAULT_NAMESPACE)
        key = victim.metadata.namespace, victim.metadata.name
        if not self.pod_edits:
            return threat(self._scheduler, self.pods.index[key])
        changed = self.cluster.with_pods(removed=[self.pods.index[key]], added=[self.find(victim)])
        return threat(self._scheduler.moved(changed), changed.pods.index[key])

    def verify(self, before: SchedulingCluster | None = None, track: Track = untracked) -> Verification:
        """Compare our answers for all pods with what the real scheduler did, as far as the snapshot holds it.

        Parameters
        ----------
        before : SchedulingCluster, optional
            The cluster as it was read, where what-ifs have changed this one: what only they do is no difference.
        track : Track
            Is told how far the work is.

        Raises
        ------
        InputError
            Where pods are edited: the real scheduler did nothing with pods like those.
        ClusterError
            Where the pods may not be listed.
        """
        if self.pod_edits:
            problem = f"{self.pod_edits[0]}: pods are compared as they are"
            raise InputError(problem, hint="leave it out; changes to the cluster can be tried")
        require_listed(self.cluster, "Pod")
        return verify(self._scheduler, before._scheduler if before is not None else None, track)

    def recorded_case(self, index: int, feature_gates: Mapping[str, bool] | None = None) -> dict[str, Any]:
        """A case to hand in of a pod for which our answer differs from kube-scheduler's: cut down, under pseudonyms.

        Parameters
        ----------
        index : int
            One of ``Verification.differing``.
        feature_gates : mapping of str to bool, optional
            The gates of the release that are not at their default, to be told with it.

        Raises
        ------
        InputError
            Where the answers do not differ, or the difference does not show without names.
        """
        return recorded_case(self._scheduler, index, feature_gates or {})

    def missing(
        self, pod: Pod | Mapping[str, Any] | str | Path, decision: Decision | None = None
    ) -> tuple[Missing, ...]:
        """What the snapshot does not have although the answer for a pod depends on it.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``explain``.
        decision : Decision, optional
            The answer: what it does not go by is not missed.
        """
        preempts = decision is None or decision.preemption is not None
        return find_missing(self.cluster, self.find(pod), preempts=preempts)

    def kind(self, pod: Pod) -> object:
        """What tells a pod of the cluster apart from others: pods of one kind differ in their name alone."""
        index = self._index(pod)
        if index is None:
            return pod.key
        record = self.pods.records[index]
        # Pods that have the same spec share it.
        alike = record.class_id, id(record.spec), record.node_name, record.metadata.owner_references
        return *alike, record.status.nominated_node_name

    def node_name(self, pod: Pod) -> str:
        """Where a pod runs in the snapshot; empty where it does not."""
        index = self._index(pod)
        return "" if index is None else self.pods.records[index].node_name

    def find(self, pod: Pod | Mapping[str, Any] | str | Path, *, where: Where = "") -> Pod:
        """The pod that is meant as it is asked about, with the defaults of an API server; as for ``explain``.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``explain``.
        where : Subject, Location or str
            Where the pod was read, for errors.
        """
        return self._edited(*defaulted(*self._given(pod, where)))

    def idle_edits(self, pod: Pod | Mapping[str, Any] | str | Path) -> tuple[PodEdit, ...]:
        """The edits that change nothing in a pod: it has not what they drop, or has already what they set."""
        found, where = defaulted(*self._given(pod))
        return tuple(edit for edit in self.pod_edits if edited_pod(found, [edit], self.cluster, where=where) == found)

    def _edited(self, pod: Pod, where: Where) -> Pod:
        return edited_pod(pod, self.pod_edits, self.cluster, where=where) if self.pod_edits else pod

    def _index(self, pod: Pod) -> int | None:
        return self.pods.index.get((pod.metadata.namespace, pod.metadata.name))

    def _given(self, pod: Pod | Mapping[str, Any] | str | Path, where: Where = "") -> tuple[Pod, Where]:
        if isinstance(pod, str) and not is_manifest(pod):
            require_listed(self.cluster, "Pod")
        return given_pod(self.pods, pod, where, release=self.release_choice.release)
