"""A whole run: pods get their turns one after another, victims end, and every step is compared."""

from collections.abc import Iterator

import msgspec

from conformance.generate.chance import Chance
from kschedctl.objects.kinds import kind_type
from kschedctl.objects.meta import ApiObject
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.live.differential.comparison import differences
from tests.live.differential.scenery import Object, Scenery
from tests.live.differential.stage import Stage, is_gated


class Play:
    """A run on a control plane.

    Parameters
    ----------
    stage : Stage
        The control plane.
    scenery : Scenery
        The objects that were created on the control plane.
    chance : Chance
        The random draws that decide whose turn it is.

    Attributes
    ----------
    n_placed, n_refused, n_victims : int
        The numbers of pods that the scheduler has placed, rejected and evicted so far.
    """

    def __init__(self, stage: Stage, scenery: Scenery, chance: Chance) -> None:
        self._stage = stage
        self._workloads = {_key(each): each for each in scenery.workloads}
        self._chance = chance
        self._new = dict(self._workloads)
        self.n_placed = self.n_refused = self.n_victims = 0

    def steps(self, most: int) -> Iterator[list[str]]:
        """Run up to ``most`` steps; yield the differences of each, and finally those after a scheduler restart."""
        pods = self._stage.pods()
        for _ in range(most):
            going = sorted((pod for pod in pods if "deletionTimestamp" in pod["metadata"]), key=_key)
            waiting = sorted((pod for pod in pods if is_gated(pod) and pod not in going), key=_key)
            if not going and not waiting:
                break
            before = pods
            if going and (not waiting or self._chance.odds(0.6)):
                cluster, first = self._stage.remove(self._chance.pick(*going)), ""
            else:
                pod = self._chance.pick(*waiting)
                cluster, first = self._stage.open_gate(pod), pod["metadata"]["uid"]
                yield self._admission(pod, cluster)
            pods = self._stage.settle(first)
            self._count(before, pods, first)
            yield differences(before, pods, cluster, first)
            self._stage.start_bound_pods()
            pods = self._stage.pods()
        # A pending pod may fit meanwhile, as not every helpful event requeues it. A new scheduler tries all pods.
        cluster, after = self._stage.restart()
        yield differences(pods, after, cluster, all_were_tried=True)

    def _count(self, before: list[Object], after: list[Object], first: str) -> None:
        on_node = [{pod["metadata"]["uid"] for pod in pods if pod["spec"].get("nodeName")} for pods in (before, after)]
        going = [
            {pod["metadata"]["uid"] for pod in pods if "deletionTimestamp" in pod["metadata"]}
            for pods in (before, after)
        ]
        self.n_placed += len(on_node[1] - on_node[0])
        self.n_victims += len(going[1] - going[0])
        self.n_refused += bool(first) and first not in on_node[1]

    def _admission(self, pod: Object, cluster: LoadedCluster) -> list[str]:
        """Compare the decision about a workload's first pod with that about its manifest after our admission."""
        owner = next((key for key in self._new if _key(pod).startswith(f"{key}-")), None)
        if owner is None or self._new[owner]["kind"] == "DaemonSet":
            return []
        workload = _typed(self._new.pop(owner))
        made = [each for each in cluster.pods_of(workload) if each.pod.name == pod["metadata"]["name"]]
        made = made or list(cluster.pods_of(workload)[:1])
        admitted = cluster.with_made(made).admit(made[0].pod).pod
        gone = msgspec.structs.replace(admitted.spec, scheduling_gates=())
        ours = cluster.with_made(made).decide(msgspec.structs.replace(admitted, spec=gone))
        stored = cluster.decide(_key(pod))
        if (ours.best, ours.message) == (stored.best, stored.message):
            return []
        return [f"{owner} as a manifest: {ours!r} {ours.message!r}\n  its pod {stored!r} {stored.message!r}"]


def _key(each: Object) -> str:
    return f"{each['metadata']['namespace']}/{each['metadata']['name']}"


def _typed(given: Object) -> ApiObject:
    kind = kind_type(given["apiVersion"], given["kind"])
    assert kind is not None
    return msgspec.convert(given, kind)
