"""A workload's new revision, through its own strategy: whether it finishes, and if not, where it stands still.

The workload's controller is played here, all others are those of the simulation. A pod that is bound is ready at once,
so that what holds a rollout up is what the scheduler says, or that nothing is to be done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from msgspec.structs import replace

from kschedctl.api.defaults import DEFAULT_NAMESPACE, default_object
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod, PodStatus
from kschedctl.api.wording import listed
from kschedctl.api.workload import (
    Deployment,
    DeploymentStrategy,
    PodTemplateSpec,
    StatefulSet,
    StatefulSetUpdateStrategy,
)
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import ManifestError
from kschedctl.findings.finding import Where
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.choice import Choose, first_by_name
from kschedctl.simulate.pods import pod_at
from kschedctl.simulate.revisions import Revisions, named
from kschedctl.simulate.rolling_deployment import RollingDeployment
from kschedctl.simulate.rolling_stateful_set import RollingStatefulSet
from kschedctl.simulate.rollout_loop import RollingController, Rollout, kept_by, play, settle
from kschedctl.simulate.rollout_steps import Side
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.world import World
from kschedctl.workloads.made_pods import MadePod
from kschedctl.workloads.ownership import pods_made_by
from kschedctl.workloads.pods import pods_of
from kschedctl.workloads.stateful_set import REVISION_HASH
from kschedctl.workloads.template import generated_name
from kschedctl.workloads.update_strategy import deployment_rolling, stateful_set_rolling

#: The kinds that are rolled out.
ROLLED: Final = (Deployment, StatefulSet)
#: What lets a new pod in.
Admit = Callable[[Pod], Pod]

_RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
_SOME_TIME: Final = "1970-01-01T00:00:00Z"


def restarted(workload: ApiObject) -> ApiObject:
    """A workload with its template once more, as by ``kubectl rollout restart``; of the time it has a stand-in."""
    if not isinstance(workload, ROLLED) or workload.spec.template is None:
        return workload
    template = workload.spec.template
    annotations = {**template.metadata.annotations, _RESTARTED_AT: _SOME_TIME}
    anew = PodTemplateSpec(metadata=replace(template.metadata, annotations=annotations), spec=template.spec)
    return replace(workload, spec=replace(workload.spec, template=anew))


def roll_out(
    scheduler: Scheduler, workload: ApiObject, *, admit: Admit, choose: Choose = first_by_name, where: Where = ""
) -> Rollout:
    """Bring a new revision of a workload in.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster with the pods that the workload has now.
    workload : Deployment or StatefulSet
        The workload with its new template. Replicas and strategy that it does not give stay those of the cluster's.
    admit : callable
        Lets a new pod in.
    choose : callable
        Settles chance; by default the first node by name.
    where : Subject, Location or str
        Where it was read, for errors.

    Raises
    ------
    ManifestError
        For another kind, where the cluster has no such workload, and where an API server would not take it.
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
        hint = "kschedctl simulate tells what becomes of a new one"
        raise ManifestError(f"the cluster has no {workload.ref}, so that nothing is replaced", where=where, hint=hint)
    made = [one for one in pods_of(workload, cluster, where=where) if one.replicas]
    stage = _Stage(scheduler, made, [pod_at(cluster, index) for index in there], admit, choose)
    if isinstance(workload, Deployment):
        return _roll_deployment(stage, workload, where)
    return _roll_stateful_set(stage, workload, where)


def _complete(workload: Deployment | StatefulSet, cluster: Cluster) -> Deployment | StatefulSet:
    """The workload as an API server has it once it is applied: what it does not say stays as it was."""
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


@dataclass(frozen=True, slots=True)
class _Stage:
    """What a rollout begins with.

    Attributes
    ----------
    made : list of MadePod
        The new pods, as the workload's controller makes them.
    pods : list of Pod
        Those that the workload has now.
    """

    scheduler: Scheduler
    made: list[MadePod]
    pods: list[Pod]
    admit: Admit
    choose: Choose

    def fresh(self, number: int = 0) -> Pod:
        """A new pod as it is let in; what is made for it by its name comes with it."""
        pod = self.made[number].pod
        return self.admit(replace(pod, status=PodStatus(phase="Pending")))

    def simulation(self, owners: Iterable[tuple[str, str, str]]) -> Simulation:
        """The cluster at work, in which nobody else makes the pods of some owners."""
        objects = [obj for one in self.made for obj in one.objects if not _is_made_for_pod(obj)]
        scheduler = self.scheduler.moved(self.scheduler.cluster.with_added(objects)) if objects else self.scheduler
        simulation = Simulation(scheduler, choose=self.choose, world=World(kept_elsewhere=kept_by(owners)))
        for pod in self.pods:
            if pod.metadata.deletion_timestamp is not None:
                simulation.clock.schedule(pod.metadata.deletion_timestamp.timestamp(), partial(simulation.remove, pod))
        simulation.enqueue_pending()
        return simulation


def _is_made_for_pod(obj: ApiObject) -> bool:
    owner = obj.metadata.controller
    return owner is not None and owner.kind == "Pod"


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
        out.held = "the Deployment is paused (spec.paused): its controller brings no new revision in"
    like = stage.fresh() if stage.made else Pod()
    stored = simulation.cluster.get(Deployment, deployment.name, deployment.namespace)
    rescaled = stored is not None and (1 if stored.spec.replicas is None else stored.spec.replicas) != replicas

    def make(number: int) -> Pod:
        return named(like, generated_name(like.metadata.generate_name, number))

    return _play(out, revisions, RollingDeployment(revisions, replicas, rolling, make, rescaled=rescaled))


def _roll_stateful_set(stage: _Stage, stateful_set: StatefulSet, where: Where) -> Rollout:
    spec = stateful_set.spec
    replicas = spec.replicas or 0
    rolling = stateful_set_rolling(stateful_set, replicas, where)
    if len(stage.made) < replicas:
        problem = f"{replicas} replicas: more than {len(stage.made)} are not rolled out"
        raise ManifestError(problem, where=where, path="spec.replicas", hint="ask for fewer")
    revision = stage.made[0].pod.metadata.labels.get(REVISION_HASH, "") if stage.made else ""
    sides = {
        pod.name: Side.NEW if pod.metadata.labels.get(REVISION_HASH) == revision else Side.OLD for pod in stage.pods
    }
    out = Rollout(
        workload=stateful_set,
        strategy=str(rolling),
        replicas=replicas,
        promised=max(replicas - rolling.max_unavailable, 0),
    )
    out.kept = min(rolling.partition, replicas)
    if rolling.on_delete:
        out.held = "updateStrategy OnDelete: a pod is only replaced once somebody deletes it"
    simulation = stage.simulation({("StatefulSet", stateful_set.namespace, stateful_set.name)})
    revisions = Revisions(simulation, stateful_set.namespace, sides, spec.min_ready_seconds)
    ordinals = range(spec.ordinals.start, spec.ordinals.start + replicas)
    controller = RollingStatefulSet(
        revisions, stateful_set.name, ordinals, rolling, lambda ordinal: stage.fresh(ordinal - ordinals.start)
    )
    return _play(out, revisions, controller)


def _play(out: Rollout, revisions: Revisions, controller: RollingController) -> Rollout:
    """Let the controller act, unless it is held, and write down what became of it."""
    simulation = revisions.simulation
    out.old = len(revisions.active(Side.OLD))
    out.before = len(revisions.available())
    attempts = [] if out.held else play(simulation, revisions, controller)
    out.finished = controller.finished
    out.seconds = (simulation.now() - simulation.began).total_seconds()
    settle(out, simulation, revisions, attempts)
    if not out.finished and not out.held and not out.waiting:
        unready = [pod.key for pod in revisions.pods() if not revisions.is_available(pod)]
        if unready:
            out.held = f"not ready, and nothing says that this ends: {listed(unready)}"
    if out.finished:
        out.held = ""
    return out


def _controller(pod: Pod) -> tuple[str, str, str]:
    owner = pod.metadata.controller
    return (owner.kind, pod.namespace, owner.name) if owner is not None else ("", pod.namespace, "")
