"""The rollout of a workload's new revision by its own strategy: whether it finishes, and if not, what holds it up.

The workload's controller is played by this package; all other controllers are those of the simulation. A bound pod
is ready at once, so that a rollout is only held up by the scheduler or by a controller that has nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.common.wording import listed
from kschedctl.controllers.workloads.ownership import intermediate_owners, pods_made_by, wanted_replicas
from kschedctl.controllers.workloads.pods import REVISION_HASH, pods_of
from kschedctl.controllers.workloads.template import MOST_MADE, MadePod, check_number, generated_name
from kschedctl.controllers.workloads.update_strategy import deployment_rolling, stateful_set_rolling
from kschedctl.objects.defaults import DEFAULT_NAMESPACE, default_object
from kschedctl.objects.meta import ApiObject
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
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.group_losses import group_losses
from kschedctl.trials.simulate.pods import pod_at
from kschedctl.trials.simulate.revisions import Revisions, with_name
from kschedctl.trials.simulate.rolling_deployment import RollingDeployment
from kschedctl.trials.simulate.rolling_stateful_set import RollingStatefulSet
from kschedctl.trials.simulate.rollout_loop import RollingController, Rollout, owned_by, play, settle
from kschedctl.trials.simulate.rollout_steps import Side
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import World

#: The kinds whose rollout is modelled.
ROLLED: Final = (Deployment, StatefulSet)
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

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster, including the current pods of the workload.
    workload : Deployment or StatefulSet
        The workload with its new template. If it sets no replicas or strategy, those in the cluster apply.
    admit : callable
        Applies admission to a new pod.
    choose : callable
        The tie-breaking rule; by default the first node by name.
    where : Subject, Location or str
        The source of the workload, for error messages.

    Raises
    ------
    ManifestError
        For another kind, for a workload that the cluster does not have, and for one that an API server would reject;
        and for more than 10,000 replicas.
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
    return _roll_stateful_set(stage, workload, where)


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


@dataclass(frozen=True, slots=True)
class _Stage:
    """The initial state of a rollout.

    Attributes
    ----------
    made : list of MadePod
        The new pods, as the workload's controller creates them.
    pods : list of Pod
        The current pods of the workload.
    """

    scheduler: Scheduler
    made: list[MadePod]
    pods: list[Pod]
    admit: Admit
    choose: Choose

    def fresh(self, number: int = 0) -> Pod:
        """Return a new pod after admission; the simulation creates the claims that belong to the pod."""
        pod = self.made[number].pod
        return self.admit(replace(pod, status=PodStatus(phase="Pending")))

    def simulation(self, owners: Iterable[tuple[str, str, str]]) -> Simulation:
        """Return a simulation of the cluster that does not recreate the pods of ``owners``."""
        objects = [obj for one in self.made for obj in one.objects if not _is_made_for_pod(obj)]
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


def _roll_stateful_set(stage: _Stage, stateful_set: StatefulSet, where: Where) -> Rollout:
    spec = stateful_set.spec
    replicas = spec.replicas or 0
    rolling = stateful_set_rolling(stateful_set, replicas, where)
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
        out.held = "updateStrategy OnDelete: a pod is only replaced after it is deleted"
    simulation = stage.simulation({("StatefulSet", stateful_set.namespace, stateful_set.name)})
    revisions = Revisions(simulation, stateful_set.namespace, sides, spec.min_ready_seconds)
    ordinals = range(spec.ordinals.start, spec.ordinals.start + replicas)
    controller = RollingStatefulSet(
        revisions, stateful_set.name, ordinals, rolling, lambda ordinal: stage.fresh(ordinal - ordinals.start)
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
