"""A cluster with a scheduler over it: pods are admitted, decided for, and put into derived clusters."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Self

from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.placed_pods import pending_pods, scheduler_message
from kschedctl.cluster.pods import Pods
from kschedctl.common.findings import ObjectRef, Subject, Where, found_at, subject_of
from kschedctl.common.wording import counted
from kschedctl.controllers.admission.changes import Admitted
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.kinds import split_name
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import ReleaseChoice
from kschedctl.objects.releases.release import Release
from kschedctl.objects.workload import DaemonSet
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.devices.extended_resources import without_extended_claim
from kschedctl.scheduler.framework.config.load import SchedulerConfiguration
from kschedctl.scheduler.framework.extender import Extender
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.plugins.registry import full_registry
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.sources.snapshot.pod_choice import defaulted, find_pod, given_pod, is_manifest
from kschedctl.trials.completeness import Missing, find_missing, require_listed
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.whatif.edit import PodEdit
from kschedctl.trials.whatif.edits import apply_pod_edits

if TYPE_CHECKING:
    from kschedctl.controllers.workloads.template import MadePod
    from kschedctl.trials.simulate.simulation import Simulation
    from kschedctl.trials.simulate.world import World
    from kschedctl.trials.whatif.edit import Edit


class LoadedCluster:
    """A cluster with a scheduler over it, which analyses work on.

    Parameters
    ----------
    snapshot : Snapshot
        The cluster, and the other data from its files.
    release_choice : ReleaseChoice
        The release whose rules apply, and the reason for the choice.
    configuration : SchedulerConfiguration, optional
        The profiles and their plugins; by default kube-scheduler's own.
    registry : Registry, optional
        The available plugins; by default the in-tree ones and those of installed packages.
    admission : bool
        True if new pods go through admission before they are decided for; otherwise they only get their defaults.
    pod_edits : sequence of PodEdit
        Changes to try in the pods that questions are about. Pods of manifests are edited before admission, as if the
        manifest were edited; pods of the cluster are edited as stored, without another admission.
    extenders : sequence of Extender
        The configuration's extenders, if they are called.
    configure : callable, optional
        Reads the configuration again, by the rules of another release; by default the configuration is the same in all
        releases.
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
        configure: Callable[[Release], SchedulerConfiguration] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.admission = admission
        self.pod_edits = tuple(pod_edits)
        self.release_choice = release_choice
        self._is_default = configuration is None
        self._configure = configure
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
        """The nodes, one row per node."""
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
        """Decide where a pod is scheduled to, or why it cannot be.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            The pod: an object, its manifest as data, ``namespace/name`` of a pod of the cluster, or the path of a
            manifest with one pod.

        Returns
        -------
        Decision
            The decision. A running pod of the cluster is decided for as if it were pending; a pod of the cluster with
            the name of a new pod is replaced by the new one.

        Raises
        ------
        ManifestError
            If there is no such pod, or an API server would refuse it.
        ClusterError
            If nodes could not be listed, or pods if the pod is named.
        """
        return self.decide_admitted(self.admit(pod).pod)

    def admit(self, pod: Pod | Mapping[str, Any] | str | Path, *, where: Where = "") -> Admitted:
        """Return a pod as the scheduler sees it, and the changes by admission; errors are those of ``decide``.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``decide``.
        where : Subject, Location or str
            The place that the pod was read from, for errors.
        """
        written, given = self.written_pod(pod, where)
        found, where = self._defaulted(written, given)
        maker = subject_of(given).object
        if maker is not None and maker.kind != "Pod":
            # Problems of its pods are reported at the workload that was read.
            where = given
        index = self._index(found)
        # A pod of the snapshot that has a priority went through admission when it was created.
        is_known = self._is_own(written) or (index is not None and found == defaulted(self.pods.pod(index), "")[0])
        if (is_known and found.spec.priority is not None) or not self.admission:
            return Admitted(self._edited(found, where), (), (), ())
        # Pods that are in the cluster, as most are, need no admission.
        from kschedctl.controllers.admission.chain import admit

        before = [edit for edit in self.pod_edits if not edit.after_admission]
        after = [edit for edit in self.pod_edits if edit.after_admission]
        written = apply_pod_edits(written, before, self.cluster, where=where)
        release = self.release_choice.release
        admitted = admit(written, self.cluster, release=release, where=where, created=not is_known)
        return (
            replace(admitted, pod=apply_pod_edits(admitted.pod, after, self.cluster, where=where))
            if after
            else admitted
        )

    def decide_admitted(self, pod: Pod) -> Decision:
        """Decide for a pod that went through admission; ``decide`` accepts any pod."""
        self.require_nodes(pod)
        scheduler = self.scheduler
        index = self._index(pod)
        if index is not None and self.pods.node_row[index] >= 0:
            scheduler = scheduler.moved(without_extended_claim(self.cluster, pod).with_pods(removed=[index]))
        return scheduler.decide_as_scheduled(pod)

    def require_nodes(self, pod: Pod | None = None) -> None:
        """Require that nodes could be listed: without them nothing can be decided.

        Parameters
        ----------
        pod : Pod, optional
            A pod for which the error reports what kube-scheduler itself says.

        Raises
        ------
        ClusterError
            If listing nodes was not allowed.
        """
        message = scheduler_message(pod) if pod is not None else ""
        said = f"kube-scheduler itself says of {pod.key}: {message}" if pod is not None and message else ""
        require_listed(self.cluster, "Node", said=said)

    def simulation(
        self,
        pods: Iterable[Pod | Mapping[str, Any] | str | Path] = (),
        *,
        choose: Choose = first_by_name,
        world: "World | None" = None,
        order: int | None = None,
    ) -> "Simulation":
        """Return a simulation of the scheduler's queue with the pending pods, followed by new pods.

        Parameters
        ----------
        pods : iterable of Pod, mapping, str or Path
            New pods, each as for ``decide``.
        choose : callable
            The tie-breaking function: it receives the pod and the names of the best nodes, and returns one of them. By
            default it returns the first by name; see ``kschedctl.trials.simulate.choice``.
        world : World, optional
            The components that act besides the scheduler; by default all that are modelled.
        order : int, optional
            The seed of a random order in which the pods are created; by default the pending pods come first, the oldest
            of them before the others.

        Returns
        -------
        Simulation
            The simulation. Iterating over it runs it, attempt by attempt; its attributes show the current state.

        Examples
        --------
        >>> import kschedctl
        >>> cluster = kschedctl.load("fixtures/shop/cluster").engine
        >>> for attempt in cluster.simulation():
        ...     print(attempt.pod, attempt.node or f"waits for {attempt.nominated}", *attempt.victims)
        shop/search-3 waits for node-8 batch/report-6
        shop/web-7 node-5
        ml/train-1 gpu-5
        batch/report-6-xxxxx node-7
        shop/search-3 node-8
        """
        from kschedctl.trials.simulate.simulation import Simulation

        simulation = Simulation(self.with_edited_pending(), choose=choose, world=world)
        new = [self.admit(pod).pod for pod in pods]
        source = Random(order) if order is not None else None
        simulation.enqueue_pending(order=source)
        if source is not None:
            source.shuffle(new)
        simulation.create(new)
        return simulation

    def with_edited_pending(self) -> Scheduler:
        """Return the scheduler over the cluster with the pod edits made in its pending pods.

        Raises
        ------
        ClusterError
            If listing nodes was not allowed.
        """
        self.require_nodes()
        if not self.pod_edits:
            return self.scheduler
        waiting = (self.pods.pod(index) for index in pending_pods(self.cluster))
        changed = [new for pod in waiting if (new := self._edited(pod, pod.ref)) != pod]
        return self.scheduler.moved(self.cluster.with_pods(added=changed)) if changed else self.scheduler

    def pods_of(self, workload: ApiObject, *, where: Where = "") -> "tuple[MadePod, ...]":
        """Return the pods that a controller would create for a workload; ``with_made`` adds the objects that they need.

        The controller of a DaemonSet deletes the pod of a node before it creates another one there. The new pod
        therefore gets the name of the old one, and replaces it.

        Raises
        ------
        ManifestError
            If the object is no workload, or an API server would refuse it.
        """
        from kschedctl.controllers.workloads.claims import replica_named
        from kschedctl.controllers.workloads.ownership import pods_made_by
        from kschedctl.controllers.workloads.pods import node_of, pods_of

        made = pods_of(workload, self.cluster, where=where)
        if not isinstance(workload, DaemonSet):
            return made
        own = pods_made_by(self.cluster, DaemonSet, workload.namespace or DEFAULT_NAMESPACE, workload.name)
        records = [self.pods.records[i] for i in own]
        names = {record.node_name or node_of(record.spec): record.metadata.name for record in records}
        return tuple(replica_named(one, names[one.node], self.cluster) if one.node in names else one for one in made)

    def with_made(self, made: "Iterable[MadePod]") -> Self:
        """Return the cluster with the controllers and claims of some pods, but without the pods themselves."""
        objects = [obj for one in made for obj in one.objects]
        return self.over(self.cluster.with_added(objects)) if objects else self

    def with_replica(self, pod: Pod, name: str) -> tuple[Self, Pod]:
        """Return the cluster with the claims of another replica of a workload, and the replica's pod.

        Parameters
        ----------
        pod : Pod
            The first replica, whose claims are in the cluster.
        name : str
            The name of the other replica, which differs in nothing else.
        """
        from kschedctl.controllers.workloads.claims import replica_named
        from kschedctl.controllers.workloads.template import MadePod

        if name == pod.name:
            return self, pod
        stored = (
            self.cluster.get(ResourceClaim, status.resource_claim_name, pod.namespace or DEFAULT_NAMESPACE)
            for status in pod.status.resource_claim_statuses
        )
        objects = tuple(claim for claim in stored if claim is not None)
        made = replica_named(MadePod(pod, objects=objects), name, self.cluster)
        return self.with_made([made]), made.pod

    def with_bound(self, decision: Decision, node: str) -> Self:
        """Return the cluster with a pod bound to a node that it fits on, and with the devices of its claims allocated.

        Other effects, such as volumes that are provisioned, are not included.

        Parameters
        ----------
        decision : Decision
            The decision of this cluster for a pod, which may be a pending pod of the cluster.
        """
        from kschedctl.scheduler.plugins.dynamic_resources.binding import with_allocated_claims

        pod = decision.pod
        cluster = with_allocated_claims(self.cluster, pod, decision.state, self.nodes.row[node])
        bound = structs.replace(pod, spec=structs.replace(pod.spec, node_name=node))
        return self.over(cluster.with_pods(added=[bound]))

    def moved(self, cluster: Cluster) -> Self:
        """Return the same scheduler over a cluster derived from this one's; cached results are kept."""
        new = copy(self)
        new.snapshot = structs.replace(self.snapshot, cluster=cluster)
        new.scheduler = self.scheduler.moved(cluster)
        return new

    def over(self, cluster: Cluster) -> Self:
        """Return a scheduler with the same rules over any other cluster."""
        new = self._with(structs.replace(self.snapshot, cluster=cluster), self.release_choice, self.configuration)
        new._is_default = self._is_default
        return new

    def with_release(self, release: Release) -> Self:
        """Return the same cluster with a scheduler by the rules of another release.

        Changes to try were made by the rules of this release, and are not made again.

        Raises ConfigError if kube-scheduler of that release refuses the configuration.
        """
        configuration = None if self._is_default else self.configuration
        if self._configure is not None:
            configuration = self._configure(release)
        return self._with(self.snapshot, structs.replace(self.release_choice, release=release), configuration)

    def _with(self, snapshot: Snapshot, choice: ReleaseChoice, configuration: SchedulerConfiguration | None) -> Self:
        return type(self)(
            snapshot,
            choice,
            configuration,
            self.registry,
            admission=self.admission,
            pod_edits=self.pod_edits,
            extenders=self.scheduler.extenders,
            configure=self._configure,
        )

    def with_edits(self, *edits: "Edit") -> Self:
        """Return the cluster with changes to try.

        Raises InputError if a change cannot be made.
        """
        # Most runs try no changes.
        from kschedctl.controllers.disruption import with_computed_status
        from kschedctl.trials.simulate.simulated_cluster import newly_pending_pods
        from kschedctl.trials.whatif.edits import apply_edits

        made = apply_edits(self.cluster, edits, release=self.release_choice.release)
        new = self.moved(with_computed_status(made.cluster))
        new.pod_edits = (*self.pod_edits, *made.pod_edits)
        new.snapshot = structs.replace(
            new.snapshot,
            changes=(*self.snapshot.changes, *made.changes),
            made_pending=self.snapshot.made_pending.union(newly_pending_pods(self.cluster, made.cluster)),
        )
        return new

    def missing(
        self, pod: Pod | Mapping[str, Any] | str | Path, decision: Decision | None = None
    ) -> tuple[Missing, ...]:
        """Return the data that the snapshot lacks although the answer for a pod depends on it.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``decide``.
        decision : Decision, optional
            The decision for the pod; data that the decision does not depend on is not missing.
        """
        # Disruption budgets have a say in the choice of victims, not in whether there are any.
        preempts = decision is None or (decision.preemption is not None and bool(decision.preemption.nominated))
        is_scored = decision is None or decision.schedulable
        return self.missing_for(self.find(pod), preempts=preempts, is_scored=is_scored)

    def missing_for(
        self, pod: Pod, *, preempts: bool, is_scored: bool, is_new: bool | None = None
    ) -> tuple[Missing, ...]:
        """Return the data that is missing for the answer for a pod with defaults, as ``find_missing``."""
        groups = self.release_choice.release.api_server_has("GenericWorkload")
        return find_missing(self.cluster, pod, is_new=is_new, preempts=preempts, is_scored=is_scored, groups=groups)

    def kind(self, pod: Pod) -> object:
        """Return a value that is equal for pods of the cluster that differ only in their names."""
        index = self._index(pod)
        return pod.key if index is None else self.kind_at(index)

    def kind_at(self, index: int) -> object:
        """Return the kind of the cluster's pod at an index."""
        record = self.pods.records[index]
        # Pods with equal specs share one object.
        alike = record.class_id, id(record.spec), record.node_name, record.metadata.owner_references
        return *alike, record.status.nominated_node_name

    def node_name(self, pod: Pod) -> str:
        """Return the node that a pod runs on in the snapshot; empty if the pod is pending or not in it."""
        index = self._index(pod)
        return "" if index is None else self.pods.records[index].node_name

    def find(self, pod: Pod | Mapping[str, Any] | str | Path, *, where: Where = "") -> Pod:
        """Return a pod with its edits and the defaults of an API server; errors are those of ``decide``.

        Parameters
        ----------
        pod : Pod, mapping, str or Path
            As for ``decide``.
        where : Subject, Location or str
            The place that the pod was read from, for errors.
        """
        return self._edited(*self._defaulted(*self.written_pod(pod, where)))

    def idle_edits(self, pod: Pod | Mapping[str, Any] | str | Path) -> tuple[PodEdit, ...]:
        """Return the edits that change nothing in a pod: it lacks what they remove, or already has what they set."""
        if not self.pod_edits:
            return ()
        found, where = defaulted(*self.written_pod(pod))
        return tuple(
            edit for edit in self.pod_edits if apply_pod_edits(found, [edit], self.cluster, where=where) == found
        )

    def _edited(self, pod: Pod, where: Where) -> Pod:
        return apply_pod_edits(pod, self.pod_edits, self.cluster, where=where) if self.pod_edits else pod

    def _defaulted(self, pod: Pod, where: Where) -> tuple[Pod, Subject]:
        """Return a pod with defaults, as the function ``defaulted``; the cluster's own pods have them already."""
        if self._is_own(pod):
            return pod, found_at(ObjectRef("Pod", pod.name, pod.namespace, "v1"), where)
        return defaulted(pod, where)

    def _is_own(self, pod: Pod) -> bool:
        """Report whether a pod is one of the cluster's, and not only equal to it."""
        index = self._index(pod)
        if index is None:
            return False
        record = self.pods.records[index]
        return pod.spec is record.spec and pod.metadata is record.metadata and pod.status is record.status

    def _index(self, pod: Pod) -> int | None:
        return self.pods.index.get((pod.metadata.namespace, pod.metadata.name))

    def named_pod(self, text: str) -> Pod:
        """Return the cluster's own pod of a name, without edits.

        Parameters
        ----------
        text : str
            ``name``, ``namespace/name``, or either with the kind in front.

        Raises
        ------
        ManifestError
            As ``decide``.
        """
        namespace, name = split_name(text, Pod) or ("", text)
        is_there = (namespace or DEFAULT_NAMESPACE, name) in self.pods.index
        require_listed(self.cluster, "Pod", None if is_there else namespace or DEFAULT_NAMESPACE)
        return find_pod(self.pods, name, namespace or DEFAULT_NAMESPACE)

    def written_pod(self, pod: Pod | Mapping[str, Any] | str | Path, where: Where = "") -> tuple[Pod, Where]:
        """Return a pod as written, without defaults, and the place where it is written.

        Raises
        ------
        ManifestError
            As ``decide``.
        """
        if isinstance(pod, str) and not is_manifest(pod):
            return self.named_pod(pod), where
        return given_pod(self.pods, pod, where, release=self.release_choice.release)
