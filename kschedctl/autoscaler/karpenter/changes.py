"""Changes of a NodePool or of a pod after which Karpenter launches a node for the pod; each is tried."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.autoscaler.expansion import GroupChange
from kschedctl.autoscaler.instance_types import InstanceType
from kschedctl.autoscaler.karpenter.claims import Obstacle, Refusal
from kschedctl.autoscaler.karpenter.new_nodes import offer_of
from kschedctl.autoscaler.karpenter.pods import requests_of, untolerated
from kschedctl.autoscaler.karpenter.provisioner import Plan, Round, Settings
from kschedctl.autoscaler.karpenter.reasons import conflicting, own_types, rounded, taints_text
from kschedctl.autoscaler.karpenter.state import NODES, state_nodes
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import listed
from kschedctl.objects.karpenter import NodePool
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod, protects_pods, toleration_of
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import exact_quantity, is_extended_resource, parse_resources
from kschedctl.objects.selectors import EXISTS, IN, NOT_IN
from kschedctl.scheduler.framework.remedy import Change, add_operation, patched, replace_operation

#: The domains of labels that Kubernetes, Karpenter and clouds set themselves.
_DOMAINS: Final = ("kubernetes.io", "k8s.io", "karpenter.sh", "amazonaws.com", "azure.com", "google.com")


def taken_by(pool: NodePool, plan: Plan) -> Counter[str]:
    """Return what the new nodes of a plan count against the limits of their pool: each as its largest type."""
    out: Counter[str] = Counter()
    for each in plan.nodes:
        if each.pool.name == pool.name:
            most: dict[str, int] = {NODES: NANO}
            for kind in each.types:
                for name, amount in parse_resources(kind.capacity).items():
                    most[name] = max(most.get(name, 0), amount)
            out.update(most)
    return out


def changes_for(
    cluster: Cluster,
    pod: Pod,
    pool: NodePool,
    refusal: Refusal,
    types: Sequence[InstanceType],
    settings: Settings,
    taken: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[GroupChange]:
    """Yield the first change of a pool or of the pod that helps.

    Args:
        taken: What nodes for other pods take of the pool's limits besides those that exist, in nano-units.
    """
    for summary, command, new, asked in _candidates(cluster, pod, pool, refusal, types, taken):
        objects = [new if each.name == pool.name else each for each in cluster.list(NodePool)]
        tried = cluster.with_objects(NodePool, objects)
        if asked is not pod:
            tried = tried.with_pods(added=(asked,))
        plan = Round(tried, types, settings).solve()
        node = next((each for each in plan.nodes if pod.key in each.pods), None)
        if node is not None:
            changes: tuple[Change, ...] = ()
            if new is not pool:
                changes = (_pool_patch(pool, new),)
            if asked is not pod:
                changes = (*changes, _pod_patch(pod, asked))
            yield GroupChange(summary=summary, command=command, changes=changes, offer=offer_of(node))
            return


def _candidates(
    cluster: Cluster,
    pod: Pod,
    pool: NodePool,
    refusal: Refusal,
    types: Sequence[InstanceType],
    taken: Mapping[str, int],
) -> Iterator[tuple[str, str, NodePool, Pod]]:
    edit = f"kubectl edit nodepools.karpenter.sh {pool.name}"
    spec = pool.spec
    if refusal.obstacle in (Obstacle.LIMIT, Obstacle.NODE_LIMIT):
        used = state_nodes(cluster).used[pool.name] + Counter(taken)
        limits = parse_resources(spec.limits)
        own = sorted(own_types(pool, types), key=lambda each: parse_resources(each.capacity).get("cpu", 0))
        for kind in own:
            wanted = {**parse_resources(kind.capacity), NODES: NANO}
            more = {
                name: used[name] + wanted.get(name, 0)
                for name, limit in limits.items()
                if used[name] + wanted.get(name, 0) > limit
            }
            if not more:
                continue
            texts = {name: exact_quantity(name, rounded(name, amount)) for name, amount in more.items()}
            parts = [f"{name} from {spec.limits[name]} to {text}" for name, text in texts.items()]
            new = replace(pool, spec=replace(spec, limits={**spec.limits, **texts}))
            yield (
                f"raise the limit of NodePool {pool.name} for {listed(parts)} or more",
                f"{edit}    # spec.limits",
                new,
                pod,
            )
    elif refusal.obstacle in (Obstacle.REQUIREMENTS, Obstacle.PLACES):
        changed_pool = _agreeing(cluster, pool, refusal)
        if changed_pool is not None:
            told, new = changed_pool
            where = (
                "template.spec.requirements" if new.spec.template.spec != spec.template.spec else "template.metadata"
            )
            yield f"{listed(told)} of NodePool {pool.name}", f"{edit}    # spec.{where}", new, pod
    elif refusal.obstacle is Obstacle.TAINTS:
        taints = untolerated(pod.spec, spec.template.spec.taints)
        # Pools with taints are for pods with a purpose; a device is one that can be seen.
        if any(map(protects_pods, taints)) or not any(map(is_extended_resource, requests_of(pod)[0])):
            return
        tolerations = (*pod.spec.tolerations, *map(toleration_of, taints))
        asked = replace(pod, spec=replace(pod.spec, tolerations=tolerations))
        summary = f"tolerate the {taints_text(taints)} of NodePool {pool.name}"
        yield summary, f"# {summary} in the pod's template", pool, asked


def _agreeing(cluster: Cluster, pool: NodePool, refusal: Refusal) -> tuple[list[str], NodePool] | None:
    """Return a pool whose nodes have the labels that a pod wants, and what is changed in it; ``None`` if that is vain.

    Values are added to requirements, or no longer excluded. A label that neither the pool nor any node has is set; one
    that nodes have may stand for something that nodes of the pool lack.
    """
    template = pool.spec.template
    requirements, labels = list(template.spec.requirements), dict(template.metadata.labels)
    told = []
    for key in conflicting(refusal):
        wanted = refusal.wanted[key]
        if wanted.operator != IN:
            return None
        values = sorted(wanted.values)
        rows = [i for i, each in enumerate(requirements) if each.key == key]
        if not rows and key not in refusal.known:
            is_own = not key.partition("/")[0].endswith(_DOMAINS)
            if not is_own or any(node.metadata.labels.get(key) in values for node in cluster.nodes.objects):
                return None
            labels[key] = values[0]
            told.append(f"add the label {key}={values[0]} to the nodes")
            continue
        if len(rows) != 1 or requirements[rows[0]].operator not in (IN, NOT_IN):
            return None
        own = requirements[rows[0]]
        if own.operator == IN:
            requirements[rows[0]] = replace(
                own, values=(*own.values, *(each for each in values if each not in own.values))
            )
            told.append(f"add {listed(values)} to {key} in the requirements")
        else:
            kept = tuple(each for each in own.values if each not in wanted.values)
            requirements[rows[0]] = replace(own, values=kept) if kept else replace(own, operator=EXISTS, values=())
            told.append(f"no longer exclude {listed(values)} of {key} in the requirements")
    metadata, spec = replace(template.metadata, labels=labels), replace(template.spec, requirements=tuple(requirements))
    template = replace(template, metadata=metadata, spec=spec)
    return (told, replace(pool, spec=replace(pool.spec, template=template))) if told else None


def _pool_patch(old: NodePool, new: NodePool) -> Change:
    operations = []
    if new.spec.limits != old.spec.limits:
        operations.append(replace_operation(new.spec.limits, "spec", "limits"))
    if new.spec.template.spec != old.spec.template.spec:
        data: Any = msgspec.to_builtins(new.spec.template.spec.requirements)
        operations.append(replace_operation(data, "spec", "template", "spec", "requirements"))
    before, after = old.spec.template.metadata, new.spec.template.metadata
    if after.labels != before.labels:
        # A pool may have no metadata.
        labels: Any = {"labels": after.labels} if before == ObjectMeta() else after.labels
        path = ("metadata",) if before == ObjectMeta() else ("metadata", "labels")
        operations.append(add_operation(labels, "spec", "template", *path))
    return patched(new, *operations)


def _pod_patch(old: Pod, new: Pod) -> Change:
    data: Any = msgspec.to_builtins(new.spec.tolerations)
    operation = replace_operation if old.spec.tolerations else add_operation
    return patched(old, operation(data, "spec", "tolerations"))
