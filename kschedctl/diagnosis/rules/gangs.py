"""Pod groups that are not tried, or for which too little is free."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_group_trees import Group, GroupForest
from kschedctl.cluster.pod_groups import group_members, scheduled_members
from kschedctl.common.wording import counted, listed, similar
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.evidence.gangs import OtherGang, gang_name, other_gang, other_gangs
from kschedctl.objects.custom_resources import CoschedulingPodGroup, VolcanoPodGroup, VolcanoQueue
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.resources import amount_of, known_amounts
from kschedctl.scheduler.cycle.outcome import GroupOutcome, Outcome
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
    elif not group.group.is_tree and all(each.spec == situation.pod.spec for each in group.group.unscheduled[-n:]):
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

    From 1.38 on, with the feature gate CompositePodGroup, a group with a parent waits for its whole tree: until the parent
    exists, and ``minGroupCount`` of the groups below it have the pods that they need.

    Operators make the two numbers agree: they scale the workload, or lower ``minCount``. They look at the events of the
    controller if it should have made more pods. A missing PodGroup is created by whoever creates the workload; often only
    the name in ``spec.schedulingGroup`` is wrong.
    """
    # Yield the missing PodGroup, the missing pods, what its tree lacks, or the gates of other members.
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
    forest = GroupForest.of(cluster, situation.release)
    root = forest.root(pod.namespace, pod.spec.pod_group_name)
    if root is None:
        *_, top = forest.upwards(group)
        yield _missing_parent(cluster, top)
        return
    if isinstance(root, CompositePodGroup) and situation.decision.outcome is Outcome.GATED:
        lacking = list(_lacking(cluster, forest, root))
        if lacking:
            yield _unready_tree(root, lacking)
            return
    indices = forest.members(cluster, root)
    gated = [each.key for each in map(cluster.pods.pod, indices.tolist()) if each.spec.scheduling_gates]
    if gated:
        yield Diagnosis(
            rule="waiting-gang",
            cause=f"its group {root.key} waits for {listed(gated, most=3)} to lose {'its' if len(gated) == 1 else 'their'} scheduling gate",
            checks=(f"kubectl get pod -n {pod.namespace} {gated[0].partition('/')[2]} -o yaml",),
        )


def _missing_parent(cluster: Cluster, top: Group) -> Diagnosis:
    """Return the diagnosis for a group whose parent does not exist, or is below it."""
    parent, namespace = top.spec.parent_composite_pod_group_name, top.namespace
    kind = type(top).__name__
    if cluster.get(CompositePodGroup, parent, namespace) is not None:
        return Diagnosis(rule="waiting-gang", cause=f"{kind} {top.key} is below its own parent {parent}")
    known = [each.name for each in cluster.list(CompositePodGroup) if each.namespace == namespace]
    close = similar(parent, sorted(known))
    meant = f"; {listed(close, 'or')} may be meant" if close else ""
    return Diagnosis(
        rule="waiting-gang",
        cause=f"CompositePodGroup {namespace}/{parent}, the parent of {kind} {top.name}, does not exist{meant}",
        advice=(
            Advice(
                summary=f"create CompositePodGroup {parent} in namespace {namespace}, or make {top.name} again with "
                "another parentCompositePodGroupName",
                risk=Risk.MISTAKE,
                untried="the policy of the parent is not known, and the parent of a group cannot change",
                command=f"kubectl get compositepodgroups -n {namespace}",
            ),
        ),
    )


def _lacking(cluster: Cluster, forest: GroupForest, root: Group) -> Iterator[tuple[Group, int, int]]:
    """Yield the groups of a tree that wait for pods or groups to be created, with the number that exist and are needed."""
    for group in forest.walk(root):
        if isinstance(group, PodGroup):
            exist = len(group_members(cluster, group.namespace, group.name))
        else:
            exist = len(forest.children(group))
        if exist < group.spec.least:
            yield group, exist, group.spec.least


def _unready_tree(root: CompositePodGroup, lacking: Sequence[tuple[Group, int, int]]) -> Diagnosis:
    parts, advice, lowered = [], [], []
    for group, exist, least in lacking:
        kind, what = type(group).__name__, "pod" if isinstance(group, PodGroup) else "group"
        parts.append(f"{kind} {group.name} has {exist} of the {counted(least, what)} that it needs")
        if exist:
            lowered.append(min_count_lowered(group, exist))
        summary = f"let the workload of {kind} {group.name} make {counted(least - exist, f'more {what}')}"
        untried = f"a controller creates the {what}s"
        command = f"kubectl get podgroups,compositepodgroups -n {root.namespace}"
        advice.append(Advice(summary=summary, risk=Risk.MISTAKE, untried=untried, command=command))
    cause = f"in its tree of groups {root.key}, {listed(parts, most=3)}"
    return Diagnosis(rule="waiting-gang", cause=cause, remedies=tuple(lowered), advice=tuple(advice))


def _with_all(situation: Situation, least: int, n_missing: int) -> str:
    """Return what is still in the way once all pods exist, as the end of a sentence; empty if they fit."""
    decision, pod = situation.decision, situation.pod
    if n_missing > _MOST_COPIES:
        return ""
    from kschedctl.scheduler.cycle.group_decisions import pending_members
    from kschedctl.scheduler.cycle.pod_group_cycle import schedule_pod_group

    copies = [
        replace(pod, metadata=replace(pod.metadata, name=f"{pod.name}-{number}", uid="", owner_references=()))
        for number in range(-n_missing, 0)
    ]
    framework = decision.framework.moved(situation.cluster.with_pods(added=[pod, *copies]))
    group = schedule_pod_group(framework, pending_members(framework, pod))
    if group.outcome is not GroupOutcome.UNSCHEDULABLE:
        return ""
    return f"; of {least} like these, {group.n_fitting + least - len(group.group.unscheduled)} would find a node"


_UNTRIED: Final = "another scheduler starts the group"


def waiting_other_gang(situation: Situation) -> Iterator[Diagnosis]:
    """Yield what a group of pods of another scheduler waits for: pods that do not exist, a queue, or what it says."""
    cluster, pod = situation.cluster, situation.pod
    gang = other_gang(cluster, pod.metadata)
    if gang is None:
        return
    title = f"PodGroup {gang.namespace}/{gang.name}"
    owner = pod.metadata.controller
    if gang.group is None:
        if not {VolcanoPodGroup, CoschedulingPodGroup}.isdisjoint(cluster.kinds):
            yield Diagnosis(
                rule="waiting-gang",
                cause=f"its {title} does not exist",
                advice=(
                    Advice(
                        summary=f"create {title}, or correct its name in the pods",
                        risk=Risk.MISTAKE,
                        untried=_UNTRIED,
                        command=f"kubectl get podgroups -n {gang.namespace}",
                    ),
                ),
            )
        return
    exist, least = max(len(gang.members), 1), gang.least
    if exist < least:
        makes = f"{owner.kind} {owner.name}" if owner is not None else "the workload"
        are = "exists" if exist == 1 else "exist"
        yield Diagnosis(
            rule="waiting-gang",
            cause=f"{title} starts only when {least} of its pods exist (minMember), and {exist} {are}",
            evidence=(gang.said,) if gang.said else (),
            advice=(
                Advice(
                    summary=f"let {makes} make the {counted(least - exist, 'missing pod')} before the others run: "
                    f"minMember is {least}",
                    risk=Risk.MISTAKE,
                    untried="a controller creates the pods",
                    command=f"kubectl describe {owner.kind.lower()} -n {gang.namespace} {owner.name}" if owner else "",
                ),
                Advice(
                    summary=f"minMember {exist} instead of {least} in {title}, if {exist} can begin without the rest",
                    risk=Risk.POD,
                    untried=_UNTRIED,
                    command=f"kubectl edit podgroups -n {gang.namespace} {gang.name}",
                ),
            ),
        )
        return
    if (problem := queue_problem(cluster, gang)) is not None:
        yield Diagnosis(rule="waiting-gang", cause=f"{title} {problem[0]}", advice=(problem[1],))
    elif (stuck := next(gang_deadlock(situation), None)) is not None:
        yield stuck
    elif gang.said:
        yield Diagnosis(rule="waiting-gang", cause=f"the scheduler says of {title}: {gang.said}")


def queue_problem(cluster: Cluster, gang: OtherGang) -> tuple[str, Advice] | None:
    """Return why Volcano's queue does not let a group start, as a verb phrase, and the cure; ``None`` if it does."""
    name = gang.group.spec.queue if gang.group is not None else ""
    queue, queues = cluster.get(VolcanoQueue, name), [each.name for each in cluster.list(VolcanoQueue)]
    if gang.group is None or not name or not queues:
        return None
    title = f"PodGroup {gang.namespace}/{gang.name}"
    risk, problem, cure = Risk.MISTAKE, "", ""
    if queue is None:
        problem = f"is for queue {name}, which does not exist (there is {listed(queues)})"
        cure = f"correct the queue of {title}, or create queue {name}"
    elif queue.status.state not in ("", "Open"):
        problem, risk = f"is in queue {name}, whose state is {queue.status.state}", Risk.SHARED
        cure = f"open queue {name} again, once the reason for its closing is gone"
    else:
        most = known_amounts(queue.spec.capability)
        for resource, amount in known_amounts(gang.group.spec.min_resources).items():
            if resource in most and amount > most[resource]:
                holds = f"its queue {name} can hold {amount_of(resource, most[resource])} at most (capability)"
                problem = f"wants {amount_of(resource, amount)}, and {holds}"
                cure = f"raise the capability of queue {name}, or let the job of {title} request less"
    command = f"kubectl get queues.scheduling.volcano.sh {name if queue is not None else ''}".strip()
    return (problem, Advice(summary=cure, risk=risk, untried=_UNTRIED, command=command)) if problem else None


def gang_deadlock(situation: Situation) -> Iterator[Diagnosis]:
    """Two groups of pods that each hold a part of what both need, so that neither can start as a whole.

    The pods of a distributed job are useful only together. A scheduler that places pods one by one can give half of the
    devices to one job and half to another one: both wait forever. Operators end one of the two, so that the other starts,
    and let a scheduler that starts groups as a whole place such jobs: with a PodGroup, or a queue in front of them.
    """
    # Yield the other group, if it holds what this one lacks and waits as well.
    pod, cluster = situation.pod, situation.cluster
    name = gang_name(pod.metadata, jobs=True)
    short = [each for each in situation.requests if situation.short_of(each)[situation.in_reach].all()]
    if not name or not situation.filtered or not short or not situation.in_reach.any():
        return
    own = next(other_gangs(cluster, pod.namespace, name, jobs=True), None)
    if own is None or not own.placed or len(own.placed) == len(own.members):
        return
    for other in other_gangs(cluster, jobs=True):
        same = (other.namespace, other.name) == (own.namespace, own.name)
        if same or not other.placed or len(other.placed) == len(other.members):
            continue
        shared = [each for each in short if _held(situation, other.placed, each) >= situation.requests[each]]
        if len(shared) < len(short):
            continue
        this, that = f"{own.namespace}/{own.name}", f"{other.namespace}/{other.name}"
        what = listed(shared)
        keys = [cluster.pods.key(index).partition("/")[2] for index in other.placed]
        # The cures are the same ones for both groups.
        first, second = sorted((this, that))
        yield Diagnosis(
            rule="gang-deadlock",
            cause=f"{this} runs {len(own.placed)} of its {len(own.members)} pods and {that} {len(other.placed)} of its "
            f"{len(other.members)}: each waits for the {what} that the other holds",
            advice=(
                Advice(
                    summary=f"end {first} or {second}, so that the other one starts as a whole; start it again then",
                    risk=Risk.MISTAKE,
                    untried="whoever owns the jobs decides which of them waits",
                    command=f"kubectl delete pod -n {other.namespace} {' '.join(keys)}    # or suspend the job of {that}",
                ),
                Advice(
                    summary=f"start groups such as {first} and {second} as a whole: a PodGroup, or a queue such as Kueue",
                    risk=Risk.SHARED,
                    untried="it takes effect for new pods",
                ),
            ),
        )
        return


def _held(situation: Situation, pods: Sequence[int], resource: str) -> int:
    """Return the amount of a resource that some pods request."""
    index = situation.columns.index.get(resource)
    per_class = situation.columns.per_class[index] if index is not None else ()
    return sum(int(per_class[situation.cluster.pods.class_id[pod]]) for pod in pods) if len(per_class) else 0
