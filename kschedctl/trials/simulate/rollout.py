"""The rollout of a workload's new revision by its own strategy: whether it finishes, and if not, what holds it up.

The workload's controller is played by this package; all other controllers are those of the simulation. A bound pod
is ready at once, so that a rollout is only held up by the scheduler or by a controller that has nothing to do.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pod_at
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.common.wording import listed
from kschedctl.controllers.workloads.ownership import intermediate_owners, pods_made_by, wanted_replicas
from kschedctl.controllers.workloads.pods import REVISION_HASH, pods_of
from kschedctl.controllers.workloads.template import MOST_MADE, MadePod, check_number, generated_name
from kschedctl.controllers.workloads.update_strategy import ROLLED, deployment_rolling, stateful_set_rolling
from kschedctl.objects.defaults import DEFAULT_NAMESPACE, default_object
from kschedctl.objects.meta import ApiObject, OwnerReference
from kschedctl.objects.pod import Pod, PodStatus
from kschedctl.objects.policies import ResourceQuota
from kschedctl.objects.workload import (
    Deployment,
    DeploymentStrategy,
    PodTemplateSpec,
    ReplicaSet,
    StatefulSet,
    StatefulSetUpdateStrategy,
)
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.volumes.attach_once import AttachedElsewhere
from kschedctl.trials.simulate.aftermath import GroupLoss, group_losses
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.rolling_workloads import Revisions, RollingDeployment, RollingStatefulSet, with_name
from kschedctl.trials.simulate.rollout_steps import RolloutStep, RolloutWaiting, Side
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import World

# The loop of a rollout: the workload's controller and the scheduler take turns, until neither has anything to do.


class RollingController(Protocol):
    """The controller of a workload that gets a new revision."""

    @property
    def finished(self) -> bool:
        """True if nothing is left to do."""

    def act(self) -> bool:
        """Take the controller's next action; return false if there is nothing to do."""


class Rollout(msgspec.Struct, kw_only=True):
    """The outcome of a rollout."""

    #: The workload with its new template.
    workload: ApiObject
    #: The update strategy in words.
    strategy: str
    #: The wanted number of pods.
    replicas: int
    #: The number of pods that the strategy keeps available, provided that all are available at first.
    promised: int
    #: True if all pods are replaced that are to be replaced.
    finished: bool = False
    #: The reason why the rollout does not progress by itself; empty if it does.
    held: str = ""
    #: True if the rollout does not begin because it is paused, or because of the strategy OnDelete.
    stopped: bool = False
    #: The number of pods of another revision at first.
    old: int = 0
    #: The number of these pods that remain, terminating pods not counted.
    left: int = 0
    #: The number of pods that keep the old revision: those below the partition of a StatefulSet.
    kept: int = 0
    #: The pods of the new revision, ``namespace/name``, and their nodes; an empty node for pending pods.
    new: dict[str, str] = msgspec.field(default_factory=dict)
    #: The pods that are pending at the end.
    waiting: list[RolloutWaiting] = msgspec.field(default_factory=list)
    #: The actions of the controller, in order.
    steps: list[RolloutStep] = msgspec.field(default_factory=list)
    #: The number of available pods at first, the smallest number at any time, and the number at the end.
    before: int = 0
    lowest: int = 0
    available: int = 0
    #: The virtual time until the rollout finished or nothing more could happen.
    seconds: float = 0.0
    #: The features that affect the rollout and are not modelled.
    not_modelled: list[NotModelled] = msgspec.field(default_factory=list)
    #: The scheduling cycles.
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    #: The new pods, ``namespace/name``, that wait for a volume that is attached to another node.
    attaching: dict[str, AttachedElsewhere] = msgspec.field(default_factory=dict)
    #: The pods that have a node and are not available at the end.
    unready: list[Pod] = msgspec.field(default_factory=list)
    #: The message of a quota that refuses a new pod; empty if none does.
    refused: str = ""
    #: The cluster at the end.
    after: Cluster | None = None
    #: The pod groups that lose members.
    losses: tuple[GroupLoss, ...] = ()


def play(simulation: Simulation, revisions: Revisions, controller: RollingController) -> list[Attempt]:
    """Let controller and scheduler act until the rollout is finished or nothing more can happen.

    The scheduler tries all pods that it can before the controller acts. Time passes when neither has anything to do.
    """
    attempts: list[Attempt] = []
    while True:
        while simulation.can_try:
            attempts += simulation.step()
            revisions.observe()
        if controller.finished:
            return attempts
        if controller.act():
            continue
        if not simulation.pass_time():
            return attempts
        revisions.observe()


def waiting_pods(simulation: Simulation, revisions: Revisions, attempts: Sequence[Attempt]) -> list[RolloutWaiting]:
    """Return the workload's pending pods, grouped by the scheduler's last message; the largest group comes first."""
    said = {attempt.pod: attempt.message for attempt in attempts}
    groups: dict[str, dict[Side, list[str]]] = defaultdict(lambda: {Side.NEW: [], Side.OLD: []})
    for pod in revisions.active():
        if not pod.spec.node_name:
            message = said.get(pod.key, "")
            if not message and not simulation.scheduler.knows(pod):
                message = f"assigned to another scheduler: {pod.spec.scheduler_name}"
            elif not message:
                gate = simulation.scheduler.framework(pod.spec.scheduler_name).run_pre_enqueue(pod)
                message = gate.message if gate.code is not Code.SUCCESS else ""
            groups[message][revisions.side(pod.name)].append(pod.key)
    found = [RolloutWaiting(text, tuple(own[Side.NEW]), tuple(own[Side.OLD])) for text, own in groups.items()]
    return sorted(found, key=lambda group: (-len(group.new) - len(group.old), group.message))


def owned_by(owners: Iterable[tuple[str, str, str]]) -> Callable[[Pod], bool]:
    """Return a predicate that matches the pods of the given controllers.

    Args:
        owners: The kind, namespace and name of each controller.
    """
    own = set(owners)

    def is_kept(pod: Pod) -> bool:
        owner: OwnerReference | None = pod.metadata.controller
        return owner is not None and (owner.kind, pod.namespace, owner.name) in own

    return is_kept


def settle(rollout: Rollout, simulation: Simulation, revisions: Revisions, attempts: Sequence[Attempt]) -> None:
    """Fill in the outcome of a rollout."""
    rollout.left = len(revisions.active(Side.OLD))
    rollout.new = {pod.key: pod.spec.node_name for pod in revisions.active(Side.NEW)}
    rollout.waiting = waiting_pods(simulation, revisions, attempts)
    rollout.steps = revisions.steps
    rollout.lowest = revisions.lowest
    rollout.available = len(revisions.available())
    rollout.attempts = list(attempts)
    rollout.attaching = {f"{revisions.namespace}/{name}": each for name, each in revisions.attaching.items()}
    rollout.unready = [pod for pod in revisions.active() if pod.spec.node_name and not revisions.is_available(pod)]
    rollout.refused = revisions.refused
    rollout.after = simulation.cluster
    own: Mapping[str, None] = dict.fromkeys(pod.key for pod in revisions.pods())
    rollout.not_modelled = list(dict.fromkeys(note for a in attempts if a.pod in own for note in a.search.not_modelled))


#: Applies admission to a new pod.
Admit = Callable[[Pod], Pod]

_RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
_SOME_TIME: Final = "1970-01-01T00:00:00Z"


def restarted(workload: ApiObject) -> ApiObject:
    """Return the workload restarted as by ``kubectl rollout restart``, with a placeholder as the time."""
    if not isinstance(workload, ROLLED) or workload.spec.template is None:
        return workload
    template = workload.spec.template
    annotations = {**template.metadata.annotations, _RESTARTED_AT: _SOME_TIME}
    anew = PodTemplateSpec(metadata=replace(template.metadata, annotations=annotations), spec=template.spec)
    return replace(workload, spec=replace(workload.spec, template=anew))


def roll_out(
    scheduler: Scheduler, workload: ApiObject, *, admit: Admit, choose: Choose = first_by_name, where: Where = ""
) -> Rollout:
    """Simulate the rollout of a workload's new revision.

    Args:
        scheduler: The scheduler over the cluster, including the current pods of the workload.
        workload: The workload with its new template. If it sets no replicas or strategy, those in the cluster
            apply.
        admit: Applies admission to a new pod.
        choose: The tie-breaking rule; by default the first node by name.
        where: The source of the workload, for error messages.

    Raises ManifestError for another kind, for a workload that the cluster does not have, and for one that an API
        server would reject; and for more than 10,000 replicas.
    """
    if not isinstance(workload, ROLLED):
        raise ManifestError(
            f"the rollout of a {type(workload).__name__} is not modelled",
            where=where,
            hint="name a Deployment or a StatefulSet",
        )
    cluster = scheduler.cluster
    workload = _complete(default_object(workload), cluster)
    there = pods_made_by(cluster, type(workload), workload.namespace or DEFAULT_NAMESPACE, workload.name)
    if not there and cluster.get(type(workload), workload.name, workload.namespace) is None:
        hint = "use kschedctl simulate for a new workload"
        raise ManifestError(
            f"the cluster has no {workload.ref}, so there is nothing to replace", where=where, hint=hint
        )
    made = [one for one in pods_of(workload, cluster, where=where, most_ordinals=MOST_MADE) if one.replicas]
    check_number(sum(one.replicas for one in made), where)
    stage = _Stage(scheduler, made, [pod_at(cluster, index) for index in there], admit, choose)
    if isinstance(workload, Deployment):
        return _roll_deployment(stage, workload, where)
    spec = workload.spec
    replicas = spec.replicas or 0
    rolling = stateful_set_rolling(workload, replicas, where)
    revision = stage.made[0].pod.metadata.labels.get(REVISION_HASH, "") if stage.made else ""
    sides = {
        pod.name: Side.NEW if pod.metadata.labels.get(REVISION_HASH) == revision else Side.OLD for pod in stage.pods
    }
    out = Rollout(
        workload=workload, strategy=str(rolling), replicas=replicas, promised=max(replicas - rolling.max_unavailable, 0)
    )
    out.kept = min(rolling.partition, replicas)
    if rolling.on_delete:
        out.held = "updateStrategy OnDelete: a pod is only replaced after it is deleted"
    simulation = stage.simulation({("StatefulSet", workload.namespace, workload.name)})
    revisions = Revisions(simulation, workload.namespace, sides, spec.min_ready_seconds)
    ordinals = range(spec.ordinals.start, spec.ordinals.start + replicas)
    controller = RollingStatefulSet(
        revisions, workload.name, ordinals, rolling, lambda ordinal: stage.fresh(ordinal - ordinals.start)
    )
    return _play(out, revisions, controller)


def _complete(workload: Deployment | StatefulSet, cluster: Cluster) -> Deployment | StatefulSet:
    """Return the workload as an API server stores it: fields that it does not set stay as in the cluster."""
    stored = cluster.get(type(workload), workload.name, workload.namespace)
    replicas = workload.spec.replicas
    if replicas is None:
        replicas = stored.spec.replicas if stored is not None else None
    replicas = 1 if replicas is None else replicas
    if isinstance(workload, Deployment):
        own = workload.spec.strategy
        if isinstance(stored, Deployment) and own == DeploymentStrategy():
            own = stored.spec.strategy
        return replace(workload, spec=replace(workload.spec, replicas=replicas, strategy=own))
    strategy = workload.spec.update_strategy
    if isinstance(stored, StatefulSet) and strategy == StatefulSetUpdateStrategy():
        strategy = stored.spec.update_strategy
    return replace(workload, spec=replace(workload.spec, replicas=replicas, update_strategy=strategy))


class _Stage(msgspec.Struct, frozen=True):
    """The initial state of a rollout."""

    scheduler: Scheduler
    #: The new pods, as the workload's controller creates them.
    made: list[MadePod]
    #: The current pods of the workload.
    pods: list[Pod]
    admit: Admit
    choose: Choose

    def fresh(self, number: int = 0) -> Pod:
        """Return a new pod after admission; the simulation creates the claims that belong to the pod."""
        return self.admit(replace(self.made[number].pod, status=PodStatus(phase="Pending")))

    def simulation(self, owners: Iterable[tuple[str, str, str]]) -> Simulation:
        """Return a simulation of the cluster that does not recreate the pods of ``owners``."""
        objects = [
            obj
            for one in self.made
            for obj in one.objects
            if obj.metadata.controller is None or obj.metadata.controller.kind != "Pod"
        ]
        # The usage of quotas follows the pods, so what their status says at first is left out.
        objects += [
            replace(quota, status=replace(quota.status, used={}))
            for quota in self.scheduler.cluster.list(ResourceQuota)
            if any(quota.namespace == one.pod.namespace for one in self.made[:1])
        ]
        scheduler = self.scheduler.moved(self.scheduler.cluster.with_added(objects)) if objects else self.scheduler
        simulation = Simulation(scheduler, choose=self.choose, world=World(kept_elsewhere=owned_by(owners)))
        simulation.enqueue_pending()
        return simulation


def _roll_deployment(stage: _Stage, deployment: Deployment, where: Where) -> Rollout:
    replicas = deployment.spec.replicas or 0
    rolling = deployment_rolling(deployment, replicas, where)
    owner = stage.made[0].pod.metadata.controller if stage.made else None
    name = owner.name if owner is not None else ""
    owners = {_controller(pod) for pod in stage.pods} | {("ReplicaSet", deployment.namespace, name)}
    sides = {pod.name: Side.NEW if _controller(pod)[2] == name else Side.OLD for pod in stage.pods}
    promised = 0 if rolling.recreate else replicas - rolling.max_unavailable
    out = Rollout(workload=deployment, strategy=str(rolling), replicas=replicas, promised=promised)
    simulation = stage.simulation(owners)
    revisions = Revisions(simulation, deployment.namespace, sides, deployment.spec.min_ready_seconds)
    if deployment.spec.paused:
        out.held = "the Deployment is paused (spec.paused): its controller rolls out no new revision"
    like = stage.fresh() if stage.made else Pod()
    stored = simulation.cluster.get(Deployment, deployment.name, deployment.namespace)
    rescaled = stored is not None and wanted_replicas(stored) != replicas

    def make(number: int) -> Pod:
        return with_name(like, generated_name(like.metadata.generate_name, number))

    controller = RollingDeployment(
        revisions,
        replicas,
        rolling,
        make,
        old_replicas={
            each.name: each.spec.replicas
            for each in intermediate_owners(simulation.cluster, Deployment, deployment.namespace, deployment.name)
            if isinstance(each, ReplicaSet) and each.spec.replicas and each.name != name
        },
        rescaled=rescaled,
    )
    return _play(out, revisions, controller)


def _play(out: Rollout, revisions: Revisions, controller: RollingController) -> Rollout:
    """Let the controller act, unless it is held, and fill in the outcome."""
    simulation = revisions.simulation
    before = simulation.cluster
    out.old = len(revisions.active(Side.OLD))
    out.before = len(revisions.available())
    out.stopped = bool(out.held)
    attempts = [] if out.stopped else play(simulation, revisions, controller)
    out.finished = controller.finished
    out.seconds = (simulation.now() - simulation.began).total_seconds()
    settle(out, simulation, revisions, attempts)
    out.losses = group_losses(before, simulation.cluster, simulation.timeline, simulation.scheduler.release)
    if not out.finished and not out.held and not out.waiting:
        unready = [pod.key for pod in revisions.pods() if not revisions.is_available(pod)]
        if unready:
            out.held = f"not ready, and not expected to become ready: {listed(unready)}"
    if out.finished:
        out.held = ""
    return out


def _controller(pod: Pod) -> tuple[str, str, str]:
    owner = pod.metadata.controller
    return (owner.kind, pod.namespace, owner.name) if owner is not None else ("", pod.namespace, "")
