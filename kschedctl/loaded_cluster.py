"""A cluster with a scheduler over it, as loaded: pods are admitted, decided for, and put into derived clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from msgspec import structs

from kschedctl.admission.chain import Admitted, admit
from kschedctl.api.defaults import DEFAULT_NAMESPACE
from kschedctl.api.device import ResourceClaim
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.wording import counted
from kschedctl.api.workload import DaemonSet
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.completeness.missing import Missing, find_missing, require_listed
from kschedctl.devices.extended_resources import without_extended_claim
from kschedctl.findings.finding import Where, subject_of
from kschedctl.framework.config.load import SchedulerConfiguration
from kschedctl.framework.extender import Extender
from kschedctl.framework.registry import Registry
from kschedctl.plugins.dynamic_resources.allocation import with_allocated_claims
from kschedctl.plugins.registry import full_registry
from kschedctl.releases.choice import ReleaseChoice
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.choice import Choose, first_by_name
from kschedctl.simulate.pending import pending_pods
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.world import World
from kschedctl.snapshot.load import Snapshot
from kschedctl.snapshot.pod_choice import defaulted, given_pod, is_manifest
from kschedctl.whatif.edit import PodEdit
from kschedctl.whatif.edit_sequence import edited_pod
from kschedctl.workloads.claims import renamed
from kschedctl.workloads.made_pods import MadePod
from kschedctl.workloads.ownership import pods_made_by
from kschedctl.workloads.pods import pods_of


class LoadedCluster:
    """A cluster with a scheduler over it: what analyses work on.

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
        self.scheduler = Scheduler(
            snapshot.cluster, release_choice.release, configuration, self.registry, extenders=extenders
        )

    def __repr__(self) -> str:
        size = f"{counted(len(self.nodes), 'node')}, {counted(len(self.pods), 'pod')}"
        changed = f", {counted(len(self.snapshot.changes), 'change')}" if self.snapshot.changes else ""
        return f"<{type(self).__name__}: {size}, rules of Kubernetes {self.release_choice.release.version}{changed}>"

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
        return self.scheduler.configuration

    def decide(self, pod: Pod | Mapping[str, Any] | str | Path) -> Decision:
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
        return self.decide_admitted(self.admit(pod).pod)

    def admit(self, pod: Pod | Mapping[str, Any] | str | Path, *, where: Where = "") -> Admitted:
        """The pod that is meant as the scheduler sees it, and what admission did to it; as for ``decide``.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``decide``.
        where : Subject, Location or str
            Where the pod was read, for errors.
        """
        written, given = self.written_pod(pod, where)
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

    def decide_admitted(self, pod: Pod) -> Decision:
        """Decide for a pod that went through admission; ``decide`` does so for any pod."""
        scheduler = self.scheduler
        index = self._index(pod)
        if index is not None and self.pods.node_row[index] >= 0:
            others = without_extended_claim(self.cluster, pod).with_pods(removed=[index])
            scheduler = scheduler.moved(others)
        return scheduler.decide(pod)

    def simulation(
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
            New pods, each as for ``decide``.
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
        >>> for attempt in cluster.simulation():
        ...     print(attempt.pod, attempt.node or f"waits for {attempt.nominated}", *attempt.victims)
        shop/search-3 waits for node-8 batch/report-6
        shop/web-7 node-5
        ml/train-1 gpu-5
        batch/report-6-xxxxx node-7
        shop/search-3 node-8
        """
        simulation = Simulation(self.with_edited_pending(), choose=choose, world=world)
        simulation.enqueue_pending()
        simulation.create(self.admit(pod).pod for pod in pods)
        return simulation

    def with_edited_pending(self) -> Scheduler:
        """The scheduler over the cluster whose pods that wait are as the edits make them: they are asked about."""
        if not self.pod_edits:
            return self.scheduler
        waiting = (self.pods.pod(index) for index in pending_pods(self.cluster))
        changed = [new for pod in waiting if (new := self._edited(pod, pod.ref)) != pod]
        return self.scheduler.moved(self.cluster.with_pods(added=changed)) if changed else self.scheduler

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

    def with_made(self, made: Iterable[MadePod]) -> Self:
        """The cluster with what comes with some pods: their controllers and claims. It has not the pods themselves."""
        objects = [obj for one in made for obj in one.objects]
        return self.over(self.cluster.with_added(objects)) if objects else self

    def with_replica(self, pod: Pod, name: str) -> tuple[Self, Pod]:
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

    def with_bound(self, decision: Decision, node: str) -> Self:
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

    def moved(self, cluster: Cluster) -> Self:
        """The same scheduler over a cluster that was derived from this one's: what it has found out goes along."""
        new = copy(self)
        new.snapshot = replace(self.snapshot, cluster=cluster)
        new.scheduler = self.scheduler.moved(cluster)
        return new

    def over(self, cluster: Cluster) -> Self:
        """The same rules over any other cluster."""
        return type(self)(
            replace(self.snapshot, cluster=cluster),
            self.release_choice,
            self.configuration,
            self.registry,
            admission=self.admission,
            pod_edits=self.pod_edits,
            extenders=self.scheduler.extenders,
        )

    def missing(
        self, pod: Pod | Mapping[str, Any] | str | Path, decision: Decision | None = None
    ) -> tuple[Missing, ...]:
        """What the snapshot does not have although the answer for a pod depends on it.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``decide``.
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
        """The pod that is meant as it is asked about, with the defaults of an API server; as for ``decide``.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``decide``.
        where : Subject, Location or str
            Where the pod was read, for errors.
        """
        return self._edited(*defaulted(*self.written_pod(pod, where)))

    def idle_edits(self, pod: Pod | Mapping[str, Any] | str | Path) -> tuple[PodEdit, ...]:
        """The edits that change nothing in a pod: it has not what they drop, or has already what they set."""
        found, where = defaulted(*self.written_pod(pod))
        return tuple(edit for edit in self.pod_edits if edited_pod(found, [edit], self.cluster, where=where) == found)

    def _edited(self, pod: Pod, where: Where) -> Pod:
        return edited_pod(pod, self.pod_edits, self.cluster, where=where) if self.pod_edits else pod

    def _index(self, pod: Pod) -> int | None:
        return self.pods.index.get((pod.metadata.namespace, pod.metadata.name))

    def written_pod(self, pod: Pod | Mapping[str, Any] | str | Path, where: Where = "") -> tuple[Pod, Where]:
        """Return the pod that is meant as it is written, without defaults, and where it is written.

        Raises
        ------
        ManifestError
            As ``decide``.
        """
        if isinstance(pod, str) and not is_manifest(pod):
            require_listed(self.cluster, "Pod")
        return given_pod(self.pods, pod, where, release=self.release_choice.release)
