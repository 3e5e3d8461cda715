"""The part of a ResourceQuota that pods of one template use: the usage of each, of the others, and the hard limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.admission.quota_usage import matches_scopes, pod_usage
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import ResourceQuota
from kschedctl.objects.quantity import Amount, parse_amounts
from kschedctl.objects.resources import RequestRules


@dataclass(frozen=True, slots=True)
class QuotaShare:
    """A resource of a quota that a pod uses.

    Attributes
    ----------
    quota : ResourceQuota
        The quota.
    resource : str
        The name under which the quota counts, such as ``requests.cpu``.
    each : Amount
        The usage of one pod.
    used : Amount
        The usage of the namespace, from the quota's status.
    hard : Amount
        The limit.
    """

    quota: ResourceQuota
    resource: str
    each: Amount
    used: Amount
    hard: Amount

    def exceeded_by(self, n_pods: int, *, stored: int = 0) -> bool:
        """Report whether the limit is too low for ``n_pods`` pods, of which ``stored`` are in ``used`` already."""
        others = max(self.used.nanos - stored * self.each.nanos, 0)
        return others + n_pods * self.each.nanos > self.hard.nanos

    def raised_by(self, nanos: int) -> Amount:
        """Return the limit that admits a further usage, in nano-units, besides the present one."""
        return Amount(self.used.nanos + nanos, self.hard.form)


def quota_shares(pod: Pod, cluster: Cluster, rules: RequestRules) -> Iterator[QuotaShare]:
    """Yield the resources of quotas that a pod uses; resources that a quota's status does not count are left out.

    Parameters
    ----------
    pod : Pod
        The pod, admitted.
    cluster : Cluster
        The cluster with its ResourceQuotas.
    rules : RequestRules
        The enabled feature gates that affect pod requests.

    Raises
    ------
    QuantityError
        If an amount of the pod or of a quota is not a quantity.
    """
    usage = pod_usage(pod, rules)
    for quota in cluster.list(ResourceQuota):
        if quota.namespace != pod.metadata.namespace or not matches_scopes(quota, pod, pod_level=rules.pod_level):
            continue
        used = parse_amounts(quota.status.used)
        for name, hard in parse_amounts(quota.spec.hard).items():
            each = usage.get(name)
            if each is not None and each.nanos and name in used:
                yield QuotaShare(quota, name, each, used[name], hard)
