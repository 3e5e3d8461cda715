"""Kueue: why a queue holds a job back, by its LocalQueue, ClusterQueue and Workload."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import listed, similar
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.evidence.events import one_line
from kschedctl.diagnosis.node_health import since
from kschedctl.objects.core import Condition, Namespace
from kschedctl.objects.custom_resources import ClusterQueue, KueueWorkload, LocalQueue, ResourceFlavor
from kschedctl.objects.selectors import SelectorError, matches, parse_label_selector
from kschedctl.scheduler.framework.risk import Risk

GROUP: Final = "kueue.x-k8s.io"
_QUEUE_LABEL: Final = f"{GROUP}/queue-name"
_GROUP_LABEL: Final = f"{GROUP}/pod-group-name"
_UNTRIED: Final = "Kueue decides when the job starts, not the scheduler"
_MOST_NAMED: Final = 3
#: A part of the names of the pods of Kueue's controller.
CONTROLLER: Final = "kueue-controller-manager"
#: Kueue's words for a job that wants more than its queue can ever have.
_NEVER: Final = re.compile(r"insufficient quota|maximum capacity")


@dataclass(frozen=True, slots=True)
class Hold:
    """The reason why a queue holds a job back."""

    #: The reason as a clause.
    cause: str
    since: datetime | None = None
    evidence: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()
    #: True if no object of Kueue gives a reason.
    unanswered: bool = False


class _WorkloadsByOwner:
    """Kueue's Workloads by kind, namespace and name of the objects that they stand for."""

    def __init__(self, cluster: Cluster) -> None:
        self.found = {
            (owner.kind, each.namespace, owner.name): each
            for each in cluster.list(KueueWorkload)
            for owner in each.metadata.owner_references
        }


def kueue_hold(
    cluster: Cluster, labels: Mapping[str, str], owners: Iterable[tuple[str, str, str]], namespace: str
) -> Hold | None:
    """Return why Kueue holds back a job, or a pod; ``None`` if Kueue has nothing to do with it.

    Args:
        labels: The labels of the object.
        owners: The object itself and its owners, as kind, namespace and name.
    """
    known = cluster.derived(_WorkloadsByOwner, None, lambda: _WorkloadsByOwner(cluster), of=(KueueWorkload,)).found
    workload = next((known[owner] for owner in owners if owner in known), None)
    if workload is None and (group := labels.get(_GROUP_LABEL, "")):
        workload = cluster.get(KueueWorkload, group, namespace)
    queue = labels.get(_QUEUE_LABEL, "") or (workload.spec.queue_name if workload is not None else "")
    if not queue and workload is None:
        return None
    found = [*_problems_of_queues(cluster, queue, namespace)]
    if workload is not None:
        found += _states(cluster, workload, queue)
    if found:
        return found[0]
    unmade = "" if workload is not None else ", and has made no Workload for it: its controller may not run"
    look = _look_at("pods", f"-A | grep {CONTROLLER}", "look whether the controller of Kueue runs")
    return Hold(f"Kueue has not admitted it to queue {queue}{unmade}", advice=(look,), unanswered=True)


def _problems_of_queues(cluster: Cluster, queue: str, namespace: str) -> Iterator[Hold]:
    """Yield what keeps the queue itself from admitting anything."""
    local = cluster.get(LocalQueue, queue, namespace)
    if local is None:
        known = sorted(each.name for each in cluster.list(LocalQueue) if each.namespace == namespace)
        if known or cluster.list(ClusterQueue):
            close = similar(queue, known)
            meant = f"; {listed(close, 'or')} may be meant" if close else ""
            yield Hold(
                f"LocalQueue {namespace}/{queue} of Kueue does not exist{meant}",
                advice=(
                    _cure(
                        f"correct the label {_QUEUE_LABEL}: {close[0]} instead of {queue}"
                        if close
                        else f"create LocalQueue {queue} in {namespace}, or correct the label {_QUEUE_LABEL}",
                        Risk.MISTAKE,
                        f"kubectl get localqueues.{GROUP} -n {namespace}",
                    ),
                ),
            )
        return
    name = local.spec.cluster_queue
    found = cluster.get(ClusterQueue, name)
    if found is None and cluster.list(ClusterQueue):
        close = similar(name, sorted(each.name for each in cluster.list(ClusterQueue)))
        meant = f"; {listed(close, 'or')} may be meant" if close else ""
        yield Hold(
            f"LocalQueue {queue} of Kueue belongs to ClusterQueue {name}, which does not exist{meant}",
            advice=(
                _cure(
                    f"correct the ClusterQueue of LocalQueue {namespace}/{queue}, or create ClusterQueue {name}",
                    Risk.MISTAKE,
                    f"kubectl get clusterqueues.{GROUP}",
                ),
            ),
        )
    for kind, obj in (("ClusterQueue", found), ("LocalQueue", local)):
        where = f" -n {obj.namespace}" if obj is not None and obj.namespace else ""
        if obj is not None and obj.spec.stop_policy not in ("", "None"):
            yield Hold(
                f"{kind} {obj.name} of Kueue is stopped (stopPolicy {obj.spec.stop_policy})",
                advice=(
                    _cure(
                        f"start {kind} {obj.name} again (stopPolicy None), once the reason for its stop is gone",
                        Risk.SHARED,
                        f"kubectl edit {kind.lower()}s.{GROUP} {obj.name}{where}",
                    ),
                ),
            )
    if found is not None and (inactive := _condition(found.status.conditions, "Active", "False")) is not None:
        yield _inactive(cluster, found, inactive)
    if (inactive := _condition(local.status.conditions, "Active", "False")) is not None:
        yield Hold(
            f"LocalQueue {namespace}/{queue} of Kueue is inactive{since(inactive.last_transition_time)}: "
            f"{_reason(inactive)}",
            inactive.last_transition_time,
            advice=(
                _look_at(f"localqueues.{GROUP}", f"{queue} -n {namespace} -o yaml", f"get LocalQueue {queue} active"),
            ),
        )


def _inactive(cluster: Cluster, queue: ClusterQueue, condition: Condition) -> Hold:
    """Return the reason why a ClusterQueue admits nothing."""
    flavors = sorted(each.name for each in cluster.list(ResourceFlavor))
    missing = [
        flavor.name for group in queue.spec.resource_groups for flavor in group.flavors if flavor.name not in flavors
    ]
    said = f"ClusterQueue {queue.name} of Kueue is inactive{since(condition.last_transition_time)}"
    if missing and (flavors or "ResourceFlavor" in condition.message or "Flavor" in condition.reason):
        name = missing[0]
        exist = (
            f" ({listed(flavors, most=_MOST_NAMED)} {'exists' if len(flavors) == 1 else 'exist'})" if flavors else ""
        )
        close = similar(name, flavors) or (flavors if len(flavors) == 1 else [])
        correct = f"create ResourceFlavor {name}, or correct its name in ClusterQueue {queue.name}"
        if close:
            correct = f"correct ResourceFlavor {name} to {close[0]} in ClusterQueue {queue.name}, or create {name}"
        return Hold(
            f"{said}: it names ResourceFlavor {name}, which does not exist{exist}",
            condition.last_transition_time,
            (_reason(condition),),
            (_cure(correct, Risk.MISTAKE, f"kubectl edit clusterqueues.{GROUP} {queue.name}"),),
        )
    return Hold(
        f"{said}: {_reason(condition)}",
        condition.last_transition_time,
        advice=(_look_at(f"clusterqueues.{GROUP}", f"{queue.name} -o yaml", f"get ClusterQueue {queue.name} active"),),
    )


def _states(cluster: Cluster, workload: KueueWorkload, queue: str) -> Iterator[Hold]:
    """Yield what Kueue's Workload itself says."""
    ns, name, conditions = workload.namespace, workload.name, workload.status.conditions
    look = f"kubectl get workloads.{GROUP} -n {ns} {name} -o yaml"
    if workload.spec.active is False:
        evicted = _condition(conditions, "Evicted", "True")
        why = f": {_reason(evicted)}" if evicted is not None else ""
        yield Hold(
            f"Workload {ns}/{name} of Kueue is deactivated{why}",
            advice=(
                _cure(f"activate Workload {name} (spec.active true), once the reason is gone", Risk.MISTAKE, look),
            ),
        )
    if (reserved := _condition(conditions, "QuotaReserved", "False")) is not None:
        local = cluster.get(LocalQueue, queue, ns)
        name_of_queue = local.spec.cluster_queue if local is not None else ""
        of = f"ClusterQueue {name_of_queue}" if name_of_queue else f"the ClusterQueue of {queue}"
        ahead = sorted(_admitted_beside(cluster, workload)) if local is not None else []
        users = f" used by {listed(ahead, most=_MOST_NAMED)}" if ahead else ""
        edit = f"kubectl edit clusterqueues.{GROUP} {name_of_queue}".strip()
        raised = _cure(f"raise the quota (nominalQuota or borrowingLimit) of {of}", Risk.SHARED, edit)
        cures = (_cure(f"wait until jobs of {of} end and its quota is free", Risk.WAIT, look), raised)
        if selector := _excluding_selector(cluster, cluster.get(ClusterQueue, name_of_queue), ns):
            cures = (
                _cure(f"label namespace {ns} so that {of} admits its jobs: {selector}", Risk.MISTAKE, edit),
                _cure(f"let the namespaceSelector of {of} match namespace {ns}", Risk.SHARED, edit),
            )
        elif _NEVER.search(reserved.message):
            # To wait is no use: not even the empty queue has as much.
            smaller = "request less, or run fewer pods at a time (parallelism): the queue can never hold as much"
            cures = (raised, _cure(smaller, Risk.REDUCED, look))
        evicted = _condition(conditions, "Evicted", "True")
        when = since(evicted.last_transition_time).replace(" since", " at") if evicted is not None else ""
        before = f"Kueue evicted it{when}: {_reason(evicted)}" if evicted is not None else ""
        yield Hold(
            f"Kueue holds it in queue {queue}{since(reserved.last_transition_time)}: {_reason(reserved)}",
            reserved.last_transition_time,
            tuple(filter(None, (f"{of} has its quota{users}" if users else "", before))),
            cures,
        )
    unmet = [each for each in workload.status.admission_checks if each.state != "Ready"]
    for check in unmet if _condition(conditions, "Admitted", "True") is None else ():
        told = f": {one_line(check.message)}" if check.message else ""
        checked = f"get admissionchecks.{GROUP},provisioningrequests -A"
        yield Hold(
            f"Kueue has reserved quota for it in queue {queue}, and admission check {check.name} is "
            f"{check.state}{told}",
            advice=(_cure(f"look why admission check {check.name} does not pass", Risk.MISTAKE, f"kubectl {checked}"),),
        )
    if (waits := _condition(conditions, "Admitted", "False")) is not None:
        yield Hold(
            f"Kueue has reserved quota for it in queue {queue}, and has not admitted it"
            f"{since(waits.last_transition_time)}: {_reason(waits)}",
            waits.last_transition_time,
            advice=(_cure(f"complete the admission checks of Workload {name}", Risk.MISTAKE, look),),
        )


def _excluding_selector(cluster: Cluster, queue: ClusterQueue | None, namespace: str) -> str:
    """Return the selector by which a ClusterQueue leaves a namespace out; empty if it does not, or is not known to."""
    found = cluster.get(Namespace, namespace)
    if queue is None or found is None or queue.spec.namespace_selector is None:
        return ""
    try:
        selector = parse_label_selector(queue.spec.namespace_selector)
    except SelectorError:
        return ""
    return "" if matches(selector, found.metadata.labels) else listed([str(each) for each in selector])


def _admitted_beside(cluster: Cluster, workload: KueueWorkload) -> Iterator[str]:
    """Yield the names of the Workloads of the same ClusterQueue that hold its quota."""
    queues = {(each.namespace, each.name): each.spec.cluster_queue for each in cluster.list(LocalQueue)}
    own = queues.get((workload.namespace, workload.spec.queue_name))
    for each in cluster.list(KueueWorkload):
        conditions = each.status.conditions
        if (
            each is not workload
            and own is not None
            and queues.get((each.namespace, each.spec.queue_name)) == own
            and _condition(conditions, "QuotaReserved", "True") is not None
            and _condition(conditions, "Finished", "True") is None
        ):
            owner = next(iter(each.metadata.owner_references), None)
            yield (
                f"{owner.kind} {each.namespace}/{owner.name}" if owner is not None else f"{each.namespace}/{each.name}"
            )


def _condition(conditions: tuple[Condition, ...], kind: str, status: str) -> Condition | None:
    return next((each for each in conditions if (each.type, each.status) == (kind, status)), None)


def _reason(condition: Condition) -> str:
    return one_line(condition.message) or condition.reason


def _cure(summary: str, risk: Risk, command: str) -> Advice:
    return Advice(summary=summary, risk=risk, untried=_UNTRIED, command=command)


def _look_at(resource: str, rest: str, summary: str) -> Advice:
    return _cure(summary, Risk.MISTAKE, f"kubectl get {resource} {rest}")
