"""The controllers of a Deployment and of its ReplicaSets during a rollout (pkg/controller/deployment).

Source: ``rolling.go`` and ``recreate.go``. The new ReplicaSet grows by at most ``replicas + maxSurge`` minus the
sum of ``spec.replicas`` of all ReplicaSets. The old ones first lose pods that are not available, at most
``all - (replicas - maxUnavailable) - new pods not available``, then available pods down to
``replicas - maxUnavailable``. ``ActivePodsWithRanks`` (pkg/controller) decides which pods a ReplicaSet deletes; among
equal pods the newest goes first, then the first by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final

from kschedctl.controllers.workloads.update_strategy import DeploymentRolling
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import parse_int64
from kschedctl.trials.simulate.pods import age
from kschedctl.trials.simulate.revisions import MakePod, Revisions
from kschedctl.trials.simulate.rollout_steps import Side
from kschedctl.trials.simulate.world import replacement
from kschedctl.trials.whatif.workload_pods import successor

_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


class RollingDeployment:
    """The controller of a Deployment that gets a new revision.

    Parameters
    ----------
    revisions : Revisions
        The pods of the Deployment.
    replicas : int
        The number of replicas of the Deployment.
    rolling : DeploymentRolling
        The strategy of the Deployment.
    make : callable
        Makes a new pod of the Deployment by number.
    old_replicas : mapping of str to int
        ``spec.replicas`` of the old ReplicaSets that the cluster has. A ReplicaSet that lacks pods still counts with
        it; the pods that it lacks are not created: something refuses them.
    rescaled : bool
        True if the rollout also changes the number of replicas: a single old ReplicaSet is then scaled to it first.
    """

    def __init__(
        self,
        revisions: Revisions,
        replicas: int,
        rolling: DeploymentRolling,
        make: MakePod,
        *,
        old_replicas: Mapping[str, int],
        rescaled: bool = False,
    ) -> None:
        self._revisions = revisions
        self._replicas = replicas
        self._rolling = rolling
        self._make = make
        #: The wanted number of pods of each old ReplicaSet, the oldest first; ``_new`` is that of the new one.
        old = sorted(revisions.active(Side.OLD), key=age)
        active = Counter(_replica_set(pod) for pod in old)
        self._old = active | Counter(old_replicas)
        absent = self._old - active
        self._new = len(revisions.active(Side.NEW))
        self._last = {_replica_set(pod): pod for pod in old}
        if rescaled and len(active) == len(self._old) == 1 and not self._new:
            self._old = Counter(dict.fromkeys(self._old, replicas))
        #: The largest number of pods that each old ReplicaSet can have, without those that it lacks from the beginning.
        self._most = active | (self._old - absent)

    @property
    def finished(self) -> bool:
        """True if the wanted number of pods exists, all are of the new revision, and all are available."""
        revisions = self._revisions
        new = revisions.active(Side.NEW)
        return (
            not revisions.active(Side.OLD)
            and len(new) == self._new == self._replicas
            and len(revisions.available(Side.NEW)) == self._replicas
        )

    def act(self) -> bool:
        """Take the controller's next action; return false if there is nothing to do."""
        if self._keep():
            return True
        return self._recreate() if self._rolling.recreate else self._roll()

    def _keep(self) -> bool:
        """Bring the first ReplicaSet that differs to its wanted number of pods; return whether one differed."""
        active = self._revisions.active(Side.OLD)
        by_set = Counter(_replica_set(pod) for pod in active)
        for name, replicas in self._old.items():
            wanted = min(replicas, self._most[name])
            if by_set[name] < wanted:
                self._revisions.create(self._again(name, wanted - by_set[name]), Side.OLD)
                return True
            if by_set[name] > wanted:
                own = [pod for pod in active if _replica_set(pod) == name]
                self._revisions.delete(self._to_delete(own, len(own) - wanted), Side.OLD)
                return True
        new = self._revisions.active(Side.NEW)
        if len(new) < self._new:
            fresh = self._revisions.within_quota(self._fresh(self._new - len(new)))
            if not fresh:
                return False
            self._revisions.create(fresh, Side.NEW)
        elif len(new) > self._new:
            self._revisions.delete(self._to_delete(new, len(new) - self._new), Side.NEW)
        return len(new) != self._new

    def _roll(self) -> bool:
        revisions, replicas, rolling = self._revisions, self._replicas, self._rolling
        n_old = self._old.total()
        before = self._new, n_old
        if self._new > replicas:
            self._new = replicas
        elif self._new < replicas and (room := replicas + rolling.max_surge - self._new - n_old) > 0:
            self._new += min(room, replicas - self._new)
        elif n_old:
            least = replicas - rolling.max_unavailable
            n_new_available = len(revisions.available(Side.NEW))
            most = self._new + n_old - least - (self._new - n_new_available)
            if most > 0:
                self._scale_old(most, n_new_available - least)
        if (self._new, self._old.total()) == before:
            return False
        # If a quota refuses the new pods, the next action may still delete old ones.
        self._keep()
        return True

    def _scale_old(self, most_unavailable: int, surplus: int) -> None:
        """Reduce the wanted numbers of the old ReplicaSets, the oldest first.

        Parameters
        ----------
        most_unavailable : int
            The largest number of unavailable pods that may be deleted.
        surplus : int
            The available new pods minus the number of pods that must be available.
        """
        available = Counter(_replica_set(pod) for pod in self._revisions.available(Side.OLD))
        for name, wanted in self._old.items():
            cleaned = min(max(wanted - available[name], 0), most_unavailable)
            self._old[name] = wanted - cleaned
            most_unavailable -= cleaned
        surplus += available.total()
        for name, wanted in self._old.items():
            taken = min(wanted, max(surplus, 0))
            self._old[name] = wanted - taken
            surplus -= taken

    def _recreate(self) -> bool:
        if self._old.total():
            self._old = Counter(dict.fromkeys(self._old, 0))
        elif self._revisions.pods(Side.OLD):
            return False
        else:
            self._new = self._replicas
        return self._keep()

    def _fresh(self, number: int) -> Iterator[Pod]:
        """Yield new pods with generated names that are not taken."""
        taken = self._revisions.simulation.cluster.pods.index
        free = (i for i in count() if (self._revisions.namespace, self._make(i).name) not in taken)
        for _ in range(number):
            yield self._make(next(free))

    def _again(self, replica_set: str, number: int) -> Iterator[Pod]:
        """Yield pods like the last one of an old ReplicaSet."""
        simulation = self._revisions.simulation
        like = successor(self._last[replica_set], simulation.cluster, release=simulation.scheduler.release)
        index = simulation.cluster.pods.index
        taken = {name for namespace, name in index if namespace == like.namespace}
        for _ in range(number):
            pod = replacement(like, taken.__contains__)
            taken.add(pod.name)
            yield pod

    def _to_delete(self, pods: list[Pod], number: int) -> list[Pod]:
        """Return the pods that a ReplicaSet deletes when it has too many."""
        per_node = Counter(pod.spec.node_name for pod in self._revisions.active())

        def rank(pod: Pod) -> tuple[object, ...]:
            placed = bool(pod.spec.node_name)
            cost = parse_int64(pod.metadata.annotations.get(_DELETION_COST, "")) or 0
            return (
                placed,
                placed and self._revisions.is_available(pod),
                cost,
                -per_node[pod.spec.node_name] if placed else 0,
                -age(pod),
                pod.name,
            )

        return sorted(pods, key=rank)[:number]


def _replica_set(pod: Pod) -> str:
    owner = pod.metadata.controller
    return owner.name if owner is not None else ""
