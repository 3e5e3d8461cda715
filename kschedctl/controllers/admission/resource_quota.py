"""The ResourceQuota admission plugin: the quotas that would reject a pod before the scheduler sees it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import SnapshotError
from kschedctl.objects.core import ResourceList
from kschedctl.objects.pod import Pod, pod_affinity_terms
from kschedctl.objects.policies import ResourceQuota, ScopedResourceSelectorRequirement
from kschedctl.objects.quantity import (
    NANO,
    QUANTITY_HINT,
    Amount,
    Amounts,
    QuantityError,
    QuantityFormat,
    forms,
    parse_amounts,
    parse_quantity,
)
from kschedctl.objects.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGEPAGES_PREFIX,
    MEMORY,
    PODS,
    RequestRules,
    container_limits,
    is_extended_resource,
    is_pod_level_resource,
    parse_resources,
    pod_requests,
)
from kschedctl.objects.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Requirement

# A pod's usage of a ResourceQuota, and the scopes of quotas (pkg/quota/v1/evaluator/core).

_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_COUNT: Final = "count/pods"
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_COMPUTE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_COUNTED: Final = frozenset(
    {_COUNT, PODS, *(f"{prefix}{name}" for prefix in ("", _REQUESTS, _LIMITS) for name in _COMPUTE)}
)
#: If a quota counts one of these resources, every container must specify it.
_TO_BE_GIVEN: Final = frozenset(f"{prefix}{name}" for prefix in ("", _REQUESTS, _LIMITS) for name in (CPU, MEMORY))
_ONE: Final = Amount(NANO)
_PRIORITY_CLASS: Final = "PriorityClass"


def pod_usage(pod: Pod, rules: RequestRules) -> Amounts:
    """Return the usage of a pod that has not finished, by the names under which quotas count.

    Raises QuantityError if a resource of the pod is not a quantity.
    """
    every = [c.resources for c in (*pod.spec.containers, *pod.spec.init_containers)]
    own = [pod.spec.resources] if rules.pod_level else []
    request_forms = forms([*(r.requests for r in (*own, *every)), pod.spec.overhead])
    requests = _quota_usage_amounts(pod_requests(pod, rules), request_forms)
    limits = _quota_usage_amounts(_pod_limits(pod, rules), forms(r.limits for r in (*own, *every)))
    return {_COUNT: _ONE, **_by_quota_name(requests, limits)}


def missing_resources_message(pod: Pod, names: Iterable[str], rules: RequestRules) -> str:
    """Return the API server's message about resources that containers must specify and do not; empty if none.

    Args:
        pod: The pod, with API defaults applied.
        names: The resources that the quota counts.
        rules: The rules that say whether pod-level resources exempt the containers from specifying theirs.
    """
    whole = pod.spec.resources
    if rules.pod_level and any(map(is_pod_level_resource, (*whole.requests, *whole.limits))):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        given = _by_quota_name(container.resources.requests, container.resources.limits)
        for name in _TO_BE_GIVEN.intersection(names).difference(given):
            missing.setdefault(name, set()).add(container.name)
    if not missing:
        return ""
    listed = (f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
    return f"must specify {'; '.join(listed)}"


def matches_scopes(quota: ResourceQuota, pod: Pod, *, pod_level: bool) -> bool:
    """Report whether a pod matches all scopes of a quota."""
    spec = quota.spec
    scopes = [ScopedResourceSelectorRequirement(scope_name=name, operator=EXISTS) for name in spec.scopes]
    return all(_in_scope(scope, pod, pod_level) for scope in (*scopes, *spec.scope_selector.match_expressions))


def _pod_limits(pod: Pod, rules: RequestRules) -> dict[str, int]:
    """Return the limits of the containers and of the pod in nano-units, plus overhead for limited resources."""
    limits = container_limits(pod)
    if rules.pod_level:
        for name, nanos in parse_resources(pod.spec.resources.limits, "spec.resources.limits").items():
            if is_pod_level_resource(name):
                limits[name] = nanos
    for name, nanos in parse_resources(pod.spec.overhead, "spec.overhead").items():
        if limits.get(name):
            limits[name] += nanos
    return limits


def _quota_usage_amounts(nanos: Mapping[str, int], written: Mapping[str, QuantityFormat]) -> Amounts:
    return {name: Amount(amount, written.get(name, QuantityFormat.DECIMAL)) for name, amount in nanos.items()}


def _by_quota_name(requests: Mapping[str, object], limits: Mapping[str, object]) -> dict[str, Any]:
    out: dict[str, Any] = {PODS: _ONE}
    for name, request in requests.items():
        if name in _COMPUTE or name.startswith(HUGEPAGES_PREFIX):
            out[name] = out[f"{_REQUESTS}{name}"] = request
        elif is_extended_resource(name) or name.startswith(_DEVICE_CLASS):
            out[f"{_REQUESTS}{name}"] = request
    for name in _COMPUTE:
        if name in limits:
            out[f"{_LIMITS}{name}"] = limits[name]
    return out


def _is_counted_by_prefix(name: str) -> bool:
    if name.startswith((HUGEPAGES_PREFIX, f"{_REQUESTS}{HUGEPAGES_PREFIX}", f"{_REQUESTS}{_DEVICE_CLASS}")):
        return True
    is_native = "/" not in name or "kubernetes.io/" in name
    return name.startswith(_REQUESTS) and not is_native


def _in_scope(scope: ScopedResourceSelectorRequirement, pod: Pod, pod_level: bool) -> bool:
    match scope.scope_name:
        case "Terminating":
            return _ends_by_itself(pod)
        case "NotTerminating":
            return not _ends_by_itself(pod)
        case "BestEffort":
            return _is_best_effort(pod, pod_level)
        case "NotBestEffort":
            return not _is_best_effort(pod, pod_level)
        case "CrossNamespacePodAffinity":
            return any(term.namespaces or term.namespace_selector is not None for term in pod_affinity_terms(pod.spec))
        case "PriorityClass" if scope.operator in (EXISTS, DOES_NOT_EXIST, IN, NOT_IN):
            requirement = Requirement(_PRIORITY_CLASS, scope.operator, scope.values)
            return requirement.holds(pod.spec.priority_class_name or None)
        case _:
            return False


def _ends_by_itself(pod: Pod) -> bool:
    seconds = pod.spec.active_deadline_seconds
    return seconds is not None and seconds >= 0


def _is_best_effort(pod: Pod, pod_level: bool) -> bool:
    """Report whether no container, or pod-level resource, requests or limits CPU or memory."""
    whole = pod.spec.resources
    if pod_level and (whole.requests or whole.limits):
        lists: list[ResourceList] = [whole.requests, whole.limits]
    else:
        every = [c.resources for c in (*pod.spec.containers, *pod.spec.init_containers)]
        lists = [each for r in every for each in (r.requests, r.limits)]
    return not any(parse_quantity(each.get(name, 0)) > 0 for each in lists for name in (CPU, MEMORY))


class QuotaRefusal(msgspec.Struct, frozen=True):
    """A quota that rejects a pod."""

    #: The name of the quota, in the pod's namespace.
    quota: str
    #: The reason, in the API server's words.
    message: str
    #: The exceeded resources only: the pod's usage, the usage of the other pods, and the quota's hard limit. Empty
    #: if the reason is that containers do not specify a resource.
    requested: Mapping[str, Amount] = msgspec.field(default_factory=dict)
    used: Mapping[str, Amount] = msgspec.field(default_factory=dict)
    limited: Mapping[str, Amount] = msgspec.field(default_factory=dict)

    def __str__(self) -> str:
        return f"would be refused by quota {self.quota} before the scheduler sees it: {self.message}"


def quota_refusals(pod: Pod, cluster: Cluster, rules: RequestRules, *, after: int = 0) -> tuple[QuotaRefusal, ...]:
    """Return one refusal per quota that rejects a pod.

    Args:
        pod: The pod as changed by the other plugins. If the cluster already has the pod, only the increase over the
            stored pod counts.
        cluster: The cluster with its ResourceQuotas. Usage is taken from their status, and computed from the
            cluster's pods for resources that the status lacks.
        rules: The enabled feature gates that affect pod requests.
        after: The number of equal pods that are admitted before it and are not in the cluster.

    Raises SnapshotError if an amount of a quota is not a quantity.
    Raises QuantityError if a resource of the pod is not a quantity.

    An API server reports only the first of these quotas.
    """
    quotas = [quota for quota in cluster.list(ResourceQuota) if quota.namespace == pod.namespace]
    about = [quota for quota in quotas if matches_scopes(quota, pod, pod_level=rules.pod_level)]
    if not about:
        return ()
    usage = pod_usage(pod, rules)
    index = cluster.pods.index.get((pod.namespace, pod.name))
    if index is not None:
        stored = pod_usage(cluster.pods.pod(index), rules)
        usage = {
            name: Amount(max(amount.nanos - stored.get(name, Amount(0)).nanos, 0), amount.form)
            for name, amount in usage.items()
        }
    delta = {name: amount for name, amount in usage.items() if amount.nanos}
    found = (_refusal_by_quota(quota, pod, delta, cluster, rules, after) for quota in about)
    return tuple(refusal for refusal in found if refusal is not None)


def _refusal_by_quota(
    quota: ResourceQuota, pod: Pod, delta: Amounts, cluster: Cluster, rules: RequestRules, after: int
) -> QuotaRefusal | None:
    hard = _quota_amounts(quota, quota.status.hard or quota.spec.hard, "spec.hard")
    names = [name for name in hard if name in _COUNTED or _is_counted_by_prefix(name)]
    missing = missing_resources_message(pod, names, rules)
    if missing:
        return QuotaRefusal(quota.name, f"failed quota: {quota.name}: {missing}")
    used = _quota_amounts(quota, quota.status.used, "status.used")
    if any(name not in used for name in names):
        records = enumerate(cluster.pods.records)
        pods = (cluster.pods.pod(i) for i, record in records if record.metadata.namespace == quota.namespace)
        usages = [pod_usage(pod, rules) for pod in pods if matches_scopes(quota, pod, pod_level=rules.pod_level)]
        out = {}
        for name in names:
            amounts = [usage[name] for usage in usages if name in usage]
            form = next((amount.form for amount in amounts if amount.nanos), Amount(0).form)
            out[name] = Amount(sum(amount.nanos for amount in amounts), form)
        used = out | used
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
        f"exceeded quota: {quota.name}, requested: {_amounts_in_words(requested)}, used: {_amounts_in_words(others)}, "
        f"limited: {_amounts_in_words(limited)}"
    )
    return QuotaRefusal(quota.name, message, requested, others, limited)


def _quota_amounts(quota: ResourceQuota, resources: ResourceList, path: str) -> Amounts:
    try:
        return parse_amounts(resources, path)
    except QuantityError as error:
        raise SnapshotError(str(error), where=quota.ref, path=error.path, hint=QUANTITY_HINT) from None


def _amounts_in_words(amounts: Mapping[str, Amount]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))


# The part of a ResourceQuota that pods of one template use: the usage of each, of the others, and the hard limit.


class QuotaShare(msgspec.Struct, frozen=True):
    """A resource of a quota that a pod uses."""

    quota: ResourceQuota
    #: The name under which the quota counts, such as ``requests.cpu``.
    resource: str
    #: The usage of one pod.
    each: Amount
    #: The usage of the namespace, from the quota's status.
    used: Amount
    #: The limit.
    hard: Amount

    def exceeded_by(self, n_pods: int, *, stored: int = 0) -> bool:
        """Report whether the limit is too low for ``n_pods`` pods, of which ``stored`` are in ``used`` already."""
        return max(self.used.nanos - stored * self.each.nanos, 0) + n_pods * self.each.nanos > self.hard.nanos

    def raised_by(self, nanos: int) -> Amount:
        """Return the limit that admits a further usage, in nano-units, besides the present one."""
        return Amount(self.used.nanos + nanos, self.hard.form)


def quota_shares(pod: Pod, cluster: Cluster, rules: RequestRules) -> Iterator[QuotaShare]:
    """Yield the resources of quotas that a pod uses; resources that a quota's status does not count are left out.

    Args:
        rules: The enabled feature gates that affect pod requests.

    Raises QuantityError if an amount of the pod or of a quota is not a quantity.
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
