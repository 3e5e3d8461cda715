"""The ResourceQuota admission plugin: the quotas that would reject a pod before the scheduler sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import SnapshotError
from kschedctl.controllers.admission.quota_usage import (
    counted_resources,
    matches_scopes,
    missing_resources_message,
    pod_usage,
)
from kschedctl.objects.core import ResourceList
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import ResourceQuota
from kschedctl.objects.quantity import QUANTITY_HINT, Amount, Amounts, QuantityError, parse_amounts
from kschedctl.objects.resources import RequestRules


@dataclass(frozen=True, slots=True)
class QuotaRefusal:
    """A quota that rejects a pod.

    Attributes
    ----------
    quota : str
        The name of the quota, in the pod's namespace.
    message : str
        The reason, in the API server's words.
    requested, used, limited : dict of str to Amount
        The exceeded resources only: the pod's usage, the usage of the other pods, and the quota's hard limit. Empty
        if the reason is that containers do not specify a resource.
    """

    quota: str
    message: str
    requested: Mapping[str, Amount] = field(default_factory=dict)
    used: Mapping[str, Amount] = field(default_factory=dict)
    limited: Mapping[str, Amount] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"would be refused by quota {self.quota} before the scheduler sees it: {self.message}"


def quota_refusals(pod: Pod, cluster: Cluster, rules: RequestRules, *, after: int = 0) -> tuple[QuotaRefusal, ...]:
    """Return one refusal per quota that rejects a pod.

    Parameters
    ----------
    pod : Pod
        The pod as changed by the other plugins. If the cluster already has the pod, only the increase over the
        stored pod counts.
    cluster : Cluster
        The cluster with its ResourceQuotas. Usage is taken from their status, and computed from the cluster's pods
        for resources that the status lacks.
    rules : RequestRules
        The enabled feature gates that affect pod requests.
    after : int
        The number of equal pods that are admitted before it and are not in the cluster.

    Raises
    ------
    SnapshotError
        If an amount of a quota is not a quantity.
    QuantityError
        If a resource of the pod is not a quantity.

    Notes
    -----
    An API server reports only the first of these quotas.
    """
    quotas = [quota for quota in cluster.list(ResourceQuota) if quota.namespace == pod.namespace]
    about = [quota for quota in quotas if matches_scopes(quota, pod, pod_level=rules.pod_level)]
    if not about:
        return ()
    delta = _beyond_stored(pod, cluster, rules)
    found = (_refusal(quota, pod, delta, cluster, rules, after) for quota in about)
    return tuple(refusal for refusal in found if refusal is not None)


def _refusal(
    quota: ResourceQuota, pod: Pod, delta: Amounts, cluster: Cluster, rules: RequestRules, after: int
) -> QuotaRefusal | None:
    hard = _amounts(quota, quota.status.hard or quota.spec.hard, "spec.hard")
    names = counted_resources(hard)
    missing = missing_resources_message(pod, names, rules)
    if missing:
        return QuotaRefusal(quota.name, f"failed quota: {quota.name}: {missing}")
    used = _amounts(quota, quota.status.used, "status.used")
    if any(name not in used for name in names):
        used = _used_by_pods(quota, names, cluster, rules) | used
    if after:
        used |= {
            name: Amount(used[name].nanos + after * delta[name].nanos, used[name].form)
            for name in names
            if name in delta
        }
    exceeded = sorted(
        name for name in names if name in delta and used[name].nanos + delta[name].nanos > hard[name].nanos
    )
    if not exceeded:
        return None
    requested, others, limited = ({name: of[name] for name in exceeded} for of in (delta, used, hard))
    message = (
        f"exceeded quota: {quota.name}, requested: {_listed(requested)}, used: {_listed(others)}, "
        f"limited: {_listed(limited)}"
    )
    return QuotaRefusal(quota.name, message, requested, others, limited)


def _beyond_stored(pod: Pod, cluster: Cluster, rules: RequestRules) -> Amounts:
    """Return the nonzero part of the pod's usage that exceeds the usage of the stored pod of the same name."""
    usage = pod_usage(pod, rules)
    index = cluster.pods.index.get((pod.namespace, pod.name))
    if index is not None:
        stored = pod_usage(cluster.pods.pod(index), rules)
        usage = {
            name: Amount(max(amount.nanos - stored.get(name, Amount(0)).nanos, 0), amount.form)
            for name, amount in usage.items()
        }
    return {name: amount for name, amount in usage.items() if amount.nanos}


def _used_by_pods(quota: ResourceQuota, names: Iterable[str], cluster: Cluster, rules: RequestRules) -> Amounts:
    usages = [
        pod_usage(pod, rules)
        for pod in _pods_in(cluster, quota.namespace)
        if matches_scopes(quota, pod, pod_level=rules.pod_level)
    ]
    out = {}
    for name in names:
        amounts = [usage[name] for usage in usages if name in usage]
        form = next((amount.form for amount in amounts if amount.nanos), Amount(0).form)
        out[name] = Amount(sum(amount.nanos for amount in amounts), form)
    return out


def _pods_in(cluster: Cluster, namespace: str) -> Iterator[Pod]:
    for index, record in enumerate(cluster.pods.records):
        if record.metadata.namespace == namespace:
            yield cluster.pods.pod(index)


def _amounts(quota: ResourceQuota, resources: ResourceList, path: str) -> Amounts:
    try:
        return parse_amounts(resources, path)
    except QuantityError as error:
        raise SnapshotError(str(error), where=quota.ref, path=error.path, hint=QUANTITY_HINT) from None


def _listed(amounts: Mapping[str, Amount]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))
