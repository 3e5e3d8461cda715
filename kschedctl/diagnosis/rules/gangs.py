"""Pod groups that are not tried, or for which too little is free."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.pod_groups import group_members, scheduled_members
from kschedctl.common.wording import counted, listed, similar
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation, all_rows
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.resources import amount_of
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.cycle.pod_group_cycle import decide_group, pending_members
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.framework.remedy import Remedy, min_count_lowered
from kschedctl.scheduler.framework.risk import Risk

_FIT = "NodeResourcesFit"


def gang_members(situation: Situation) -> Iterator[Diagnosis]:
    """Members of a pod group for which too little is free once the others have their nodes.

    The group's own members use most of the nodes then, so who else uses them is not the point: what counts is how much more
    is needed. Operators add that many nodes, free as much on the nodes that lack least, or let the group start with fewer
    members.

    A group with a topology constraint fits nowhere if no node has the label that the constraint names: usually the key is
    mistyped, or the nodes were created without it.
    """
    # Yield a missing topology label, or the smallest shortage if shortages are all that keeps a member from a node.
    group = group_of(situation.decision)
    if group is not None and group.group.topology_key:
        key = group.group.topology_key
        keys = {each for node in situation.cluster.nodes.objects for each in node.metadata.labels}
        if key not in keys and situation.release.places_groups:
            close = similar(key, sorted(keys))
            meant = f"; {listed(close, 'or')} may be meant" if close else ""
            cause = f"no node has the label {key}, which the topology constraint of its group names{meant}"
            yield Diagnosis(rule="gang-members", cause=cause)
    if group is None or not group.n_fitting or not situation.filtered:
        return
    nodes = situation.in_reach & situation.rejected_by(_FIT)
    for plugin, rejected in situation.rejected.items():
        if plugin != _FIT:
            nodes &= ~rejected
    short = {row: missing for row in all_rows(nodes) if (missing := _missing_amounts(situation, row))}
    if not short:
        return
    least = min(short, key=lambda row: (len(short[row]), sum(short[row].values()), row))
    amounts = listed([amount_of(name, n) for name, n in short[least].items()])
    alone = len(short) > 1 and sum(missing == short[least] for missing in short.values()) == 1
    where = f" on {situation.cluster.nodes.names[least]}, where least is missing" if alone else ""
    n = len(group.group.unscheduled) - group.n_fitting
    if n == 1:
        shortage = f"the other one lacks {amounts}"
    elif all(each.spec == situation.pod.spec for each in group.group.unscheduled[-n:]):
        shortage = f"the other {n} lack {amounts} each"
    else:
        # The others differ: only the one that was tried is known to lack this.
        shortage = f"{situation.pod.name} lacks {amounts}"
    yield Diagnosis(rule="gang-members", cause=shortage + where)


def _missing_amounts(situation: Situation, row: int) -> Mapping[str, int]:
    """Return the missing amount per resource on a node; empty if the member would not fit on the empty node."""
    found = [operands.shortfall() for operands in situation.operands(row, _FIT)]
    if any(each is None or each.hopeless for each in found):
        return {}
    return {each.resource: each.lacking for each in found if each is not None}


#: At most 1,000 missing pods of a gang are tried as copies of the one asked for.
_MOST_COPIES: Final = 1000


def waiting_gang(situation: Situation) -> Iterator[Diagnosis]:
    """A pod whose group is not tried yet: its PodGroup does not exist, or fewer than ``minCount`` of its pods do.

    kube-scheduler tries a gang when ``minCount`` of its pods exist (KEP-4671). Usually the controller makes fewer pods than
    the PodGroup requires, or it has not made all of them yet: a quota or an admission webhook may stop it. Since 1.37, one
    member with a scheduling gate holds back all others.

    Operators make the two numbers agree: they scale the workload, or lower ``minCount``. They look at the events of the
    controller if it should have made more pods. A missing PodGroup is created by whoever creates the workload; often only
    the name in ``spec.schedulingGroup`` is wrong.
    """
    # Yield the missing PodGroup, the missing pods, or the gates of other members.
    pod, cluster = situation.pod, situation.cluster
    name = pod.spec.pod_group_name
    if not name or pod.spec.scheduling_gates or not situation.release.gangs:
        return
    group = cluster.get(PodGroup, name, pod.namespace)
    if group is None:
        namespace = situation.pod.namespace
        known = sorted(each.name for each in situation.cluster.list(PodGroup) if each.namespace == namespace)
        close = similar(name, known)
        meant = f"; {listed(close, 'or')} may be meant" if close else ""
        yield Diagnosis(
            rule="waiting-gang",
            cause=f"PodGroup {namespace}/{name} does not exist{meant}",
            advice=(
                Advice(
                    summary=f"create PodGroup {name} in namespace {namespace}, or correct schedulingGroup in the pods",
                    risk=Risk.MISTAKE,
                    untried="the group's policy is not known, and schedulingGroup of a pod cannot change",
                    command=f"kubectl get podgroups -n {namespace}",
                ),
            ),
        )
        return
    indices = group_members(cluster, pod.namespace, name)
    keys = {(each.namespace, each.name) for each in map(cluster.pods.pod, indices.tolist())} | {
        (pod.namespace, pod.name)
    }
    least, exist = group.spec.min_count, len(keys)
    if least is not None and exist < least:
        kind, _, name = situation.workload
        makes = f"{kind} {name}" if kind != "Pod" else "the workload"
        scheduled = len(scheduled_members(situation.cluster, group.namespace, group.name))
        done = f", {scheduled} of them on nodes" if scheduled else ""
        rules = situation.release.pod_groups
        lowered: tuple[Remedy, ...] = (min_count_lowered(group, exist),) if rules and rules.queues_groups else ()
        yield Diagnosis(
            rule="waiting-gang",
            cause=f"{exist} of the {least} pods that gang {group.key} needs {'exists' if exist == 1 else 'exist'}{done}",
            remedies=lowered,
            advice=(
                Advice(
                    summary=f"let {makes} make {counted(least - exist, 'more pod')}: minCount is {least}",
                    risk=Risk.MISTAKE,
                    untried=f"a controller creates the pods{_with_all(situation, least, least - exist)}",
                    command=f"kubectl describe {kind.lower()} -n {group.namespace} {name}" if kind != "Pod" else "",
                ),
            ),
        )
        return
    gated = [each.key for each in map(cluster.pods.pod, indices.tolist()) if each.spec.scheduling_gates]
    if gated:
        yield Diagnosis(
            rule="waiting-gang",
            cause=f"its group {group.key} waits for {listed(gated, most=3)} to lose {'its' if len(gated) == 1 else 'their'} scheduling gate",
            checks=(f"kubectl get pod -n {pod.namespace} {gated[0].partition('/')[2]} -o yaml",),
        )


def _with_all(situation: Situation, least: int, n_missing: int) -> str:
    """Return what is still in the way once all pods exist, as the end of a sentence; empty if they fit."""
    decision, pod = situation.decision, situation.pod
    if n_missing > _MOST_COPIES:
        return ""
    copies = [
        replace(pod, metadata=replace(pod.metadata, name=f"{pod.name}-{number}", uid="", owner_references=()))
        for number in range(-n_missing, 0)
    ]
    framework = decision.framework.moved(situation.cluster.with_pods(added=[pod, *copies]))
    group = decide_group(framework, pending_members(framework, pod))
    if group.outcome is not GroupOutcome.UNSCHEDULABLE:
        return ""
    return f"; of {least} like these, {group.n_fitting + least - len(group.group.unscheduled)} would find a node"
