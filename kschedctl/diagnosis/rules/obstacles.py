"""Obstacles on the nodes that the pod itself selects and that its volumes can be used on."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from kschedctl.cluster.node_selection import required_node_selector, runtime_class_selector
from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.components import Agent, agents_words, startup_agent
from kschedctl.diagnosis.diagnosis import Diagnosis, Situation, all_rows
from kschedctl.diagnosis.node_health import health_problem, is_unhealthy
from kschedctl.diagnosis.rules.volumes import selection_text, volume_scope
from kschedctl.objects.pod import UNSCHEDULABLE_TAINT
from kschedctl.objects.resources import PODS, format_amount
from kschedctl.objects.selectors import SelectorError, label_map_selector, parse_node_term
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.devices.explain import NotAllocated, RequestSupply
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import ExistingAntiAffinity, NoPodNear, PodsInTheWay
from kschedctl.scheduler.plugins.node_ports import PortInUse
from kschedctl.scheduler.plugins.node_volume_limits import TooManyVolumes
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import SkewTooHigh
from kschedctl.scheduler.plugins.taint_toleration import untolerated_taint

#: The reasons of at most this many nodes of a group are looked at.
_SAMPLE = 50
_FIT = "NodeResourcesFit"
_AFFINITY = "InterPodAffinity"


def obstacles(situation: Situation) -> Iterator[Diagnosis]:
    """Obstacles on the nodes that the pod itself selects and that its volumes can be used on.

    This rule applies where no other explains the rejection. Nodes that the pod's own selector excludes are no cause as long
    as others are left: they are named as the scope. Of several obstacles, unusual ones come first: unhealthy and cordoned
    nodes, then what other pods use, then taints that reserve nodes.
    """
    # Yield the obstacles on the nodes within reach, or the reason why no node is.
    if not situation.filtered:
        outcome = situation.decision.pre_filter
        if outcome is not None and outcome.status.message:
            yield Diagnosis(rule="pre-filter", cause=outcome.status.message)
        return
    if not situation.n_nodes:
        return
    nodes, scope = scope_of(situation)
    if nodes.any():
        yield Diagnosis(
            rule="obstacles",
            cause=together(situation, *_phrases(situation, nodes, scope)),
            evidence=(*_fragments(situation, nodes), *_priorities(situation, nodes)),
        )
    elif not situation.selected.any():
        yield Diagnosis(rule="selects-no-node", cause=_no_node_selected(situation))
    else:
        rows = all_rows(situation.selected)
        said = [
            o.words()
            for row in rows[:1]
            for plugin in ("VolumeBinding", "VolumeZone")
            for o in situation.operands(row, plugin)
        ]
        where = _subject(situation, situation.selected, "", of_all=bool(situation.selected.all()))
        yield Diagnosis(rule="volume-elsewhere", cause=f"{where}: {'; '.join(said)}")


def obstacles_on(situation: Situation, nodes: Mask) -> str:
    """Return the obstacles on a part of the nodes within reach as text; empty for no nodes."""
    return "; ".join(_phrases(situation, nodes, "", is_part=True)) if nodes.any() else ""


def together(situation: Situation, *phrases: str) -> str:
    """Return phrases about the nodes within reach as one clause, with the nodes beyond it, unless a phrase names them.

    So the numbers of nodes in the clause add up to those of the cluster.
    """
    told, scope = [phrase for phrase in phrases if phrase], scope_of(situation)[1]
    if not situation.is_of_daemon_set and not (scope and any(scope in phrase for phrase in told)):
        spec, statuses = situation.pod.spec, situation.decision.statuses
        left_out = ~situation.selected
        if statuses is not None and statuses.outside is not None:
            # A group is tried on the nodes of one placement after another.
            left_out &= ~statuses.outside
        if left_out.any():
            chooses = spec.node_name or spec.node_selector or required_node_selector(spec) is not None
            by = selection_text(situation) if chooses else "the configuration of the scheduler"
            told.append(f"{by} excludes {counted(int(left_out.sum()), 'other node')}")
        by_volumes = int((situation.selected & ~situation.in_reach).sum())
        if by_volumes:
            told.append(f"its volumes exclude {counted(by_volumes, 'other node')}")
    return "; ".join(told)


def scope_of(situation: Situation) -> tuple[Mask, str]:
    """Return the nodes within reach, and what they have in common as text; empty if these are all nodes."""
    nodes = situation.in_reach
    if nodes.all():
        return nodes, ""
    parts = [f"{key}={value}" for key, value in situation.pod.spec.node_selector.items()]
    if required_node_selector(situation.pod.spec) is not None:
        parts.append("the required node affinity")
    scope = f" with {' and '.join(parts)}" if parts and not situation.selected.all() else ""
    if not np.array_equal(situation.selected, nodes):
        scope += volume_scope(situation)
    return nodes, scope


def _no_node_selected(situation: Situation) -> str:
    labels = situation.cluster.nodes.labels
    selector = label_map_selector(situation.pod.spec.node_selector)
    of_class = runtime_class_selector(situation.pod.spec, situation.cluster)
    never = [one for one in selector if not labels.matches((one,)).any()]
    phrases = []
    if by_class := [str(one) for one in never if one.key in of_class]:
        name, which = situation.pod.spec.runtime_class_name, "this label" if len(by_class) == 1 else "these labels"
        phrases.append(f"runtime class {name} wants nodes with {listed(by_class)}, and no node has {which}")
    if by_pod := [str(one) for one in never if one.key not in of_class]:
        phrases.append(f"no node has the label {listed(by_pod)} of nodeSelector")
    if phrases:
        return "; ".join(phrases)
    if len(selector) > 1 and not labels.matches(selector).any():
        return f"no node has all labels of nodeSelector: {listed([str(one) for one in selector])}"
    if situation.pod.spec.node_name:
        return f"nodeName is {situation.pod.spec.node_name}, and there is no such node"
    required = required_node_selector(situation.pod.spec)
    terms = required.node_selector_terms if required is not None else ()
    if len(terms) == 1 and not selector:
        try:
            term = parse_node_term(terms[0])
        except SelectorError:
            term = None
        unmet = [str(one) for one in term.labels if not labels.matches((one,)).any()] if term is not None else []
        if unmet:
            return f"the node affinity requires {listed(unmet)}, which holds on no node"
    return "no node matches the required node affinity" + (" and nodeSelector" if selector else "")


def _phrases(situation: Situation, nodes: Mask, scope: str, *, is_part: bool = False) -> Iterator[str]:
    """Yield one phrase per obstacle; together they cover the nodes, which may be a part of those within reach."""
    left = nodes.copy()
    total = -1 if is_part else int(nodes.sum())

    def subject(found: Mask) -> str:
        return _subject(situation, found, scope, of_all=int(found.sum()) == total)

    unhealthy: dict[tuple[str, str], list[tuple[str, Agent | None]]] = {}
    for row in all_rows(left & situation.rejected_by("TaintToleration")):
        node = situation.cluster.nodes.objects[row]
        if is_unhealthy(node, situation.pod.spec.tolerations):
            left[row] = False
            problem = health_problem(node)
            agent, key = None, next((known for known in unhealthy if known[0] == problem), (problem, ""))
            # Beyond 50 nodes the agents are taken to be in the same state.
            if len(unhealthy.get(key, ())) < _SAMPLE:
                agent = startup_agent(situation.cluster, row)
                key = problem, agent.state if agent is not None else ""
            unhealthy.setdefault(key, []).append((node.name, agent))
    for (problem, _), ill in unhealthy.items():
        names, agents = [name for name, _ in ill], [agent for _, agent in ill if agent is not None]
        where = scope if len(names) == total else ""
        told = f"{listed(names, most=3)}{where} {'is' if len(names) == 1 else 'are'} {problem}"
        yield told + (agents_words(agents) if agents else "")
    cordoned = left & situation.rejected_by("NodeUnschedulable")
    if cordoned.any():
        left &= ~cordoned
        verb = "is" if cordoned.sum() == 1 else "are"
        yield f"{listed(situation.names(cordoned), most=3)}{scope if int(cordoned.sum()) == total else ''} {verb} cordoned"
    tainted = left & situation.rejected_by("TaintToleration")
    left &= ~tainted
    while left.any():
        # The filter that rejects most of the nodes explains them; the order of the profile decides between equals.
        counts = {plugin: int((left & mask).sum()) for plugin, mask in situation.rejected.items()}
        plugin = max(counts, key=lambda name: counts[name], default="")
        found = left & situation.rejected_by(plugin)
        if not plugin or not found.any():
            message = situation.decision.verdict(all_rows(left)[0]).status.message
            yield f"{subject(left).removesuffix(',')}: {message}"
            break
        if plugin == _AFFINITY:
            found = _of_one_kind(situation, found)
        left &= ~found
        if plugin == _FIT:
            yield from _short(situation, found, scope, total)
        else:
            yield _worded(situation, plugin, found, subject(found))
    by_taint: dict[str, Mask] = {}
    for row in all_rows(tainted):
        node = situation.cluster.nodes.objects[row]
        taint = untolerated_taint(node.spec.taints, situation.pod.spec.tolerations)
        by_taint.setdefault(str(taint or UNSCHEDULABLE_TAINT), np.zeros_like(nodes))[row] = True
    for taint_text, found in sorted(by_taint.items(), key=lambda item: -int(item[1].sum())):
        one = found.sum() == 1
        if int(found.sum()) == total:
            yield f"{subject(found)} {'has' if one else 'have'} the taint {taint_text}, which the pod does not tolerate"
        else:
            yield f"{subject(found)} {'is' if one else 'are'} tainted {taint_text}"


def _of_one_kind(situation: Situation, found: Mask) -> Mask:
    """Return the nodes with a pod that is to be kept apart, if there are any; else all, which lack a wanted pod.

    Of more than 50 nodes, those count that preemption could help, as the others lack a wanted pod.
    """
    apart = np.zeros_like(found)
    rows = all_rows(found)
    if len(rows) > _SAMPLE and situation.decision.statuses is not None:
        apart = found & (situation.decision.statuses.code == Code.UNSCHEDULABLE)
    else:
        for row in rows:
            apart[row] = any(isinstance(one, PodsInTheWay) for one in situation.operands(row, _AFFINITY))
    return apart if apart.any() else found


def _subject(situation: Situation, found: Mask, scope: str, *, of_all: bool) -> str:
    """Return nodes as the subject of a sentence: the name of a single one, else their number."""
    n_found = int(found.sum())
    if n_found == 1:
        name = situation.names(found)[0]
        return f"its node {name}" if situation.is_of_daemon_set else f"{name}{scope if of_all else ''}"
    return f"all {n_found} nodes{scope}" if of_all else f"{n_found} nodes"


def _short(situation: Situation, found: Mask, scope: str, total: int) -> Iterator[str]:
    """Yield what the nodes lack, one phrase per resource; together they cover the nodes."""
    left = found.copy()
    while left.any():
        counts = {name: int((left & situation.short_of(name)).sum()) for name in situation.requests}
        resource = max(counts, key=lambda name: counts[name])
        here = left & situation.short_of(resource)
        if not here.any():
            subject = _subject(situation, left, scope, of_all=int(left.sum()) == total)
            yield f"{subject.removesuffix(',')}: {_first_words(situation, left)}"
            return
        left &= ~here
        yield _lacking(situation, resource, here, scope, of_all=int(here.sum()) == total)


def _lacking(situation: Situation, resource: str, here: Mask, scope: str, *, of_all: bool) -> str:
    wanted = situation.requests[resource]
    offered, free = situation.offered(resource), situation.offered(resource) - situation.used(resource)
    rows = np.flatnonzero(here)
    most, largest = int(rows[np.argmax(free[rows])]), int(offered[rows].max())
    subject, closest = _subject(situation, here, scope, of_all=of_all), situation.cluster.nodes.names[most]
    one = len(rows) == 1
    of_none = of_all and not one
    need = f"{format_amount(resource, wanted)} {resource}"
    if resource == PODS:
        taken = f"{int(situation.used(PODS)[most])} of {int(offered[most])} pods"
        return f"{subject} runs {taken}" if one else f"{subject} run as many pods as they may ({closest}: {taken})"
    if not largest:
        return f"no node{scope} offers {resource}" if of_none else f"{subject} offer{'s' * one} no {resource}"
    if wanted > largest:
        has = format_amount(resource, largest)
        if one:
            return f"{subject} has {has} {resource} in all, the pod wants {need}"
        if of_all:
            return f"no node{scope} has {need}, the largest offers {has}"
        return f"{subject} are too small (the pod wants {need}, the largest of them offers {has})"
    left = format_amount(resource, max(int(free[most]), 0))
    if one:
        total = format_amount(resource, int(offered[most]))
        return f"{subject} has {left} of {total} {resource} free, the pod wants {need}"
    if of_all:
        return f"no node{scope} has {need} free: the most is {left}, on {closest}"
    return f"{subject} lack {resource} (the pod wants {format_amount(resource, wanted)}, {closest} has {left} free)"


def _worded(situation: Situation, plugin: str, found: Mask, subject: str) -> str:
    """Return what a filter says about nodes, as one phrase."""
    rows = all_rows(found)[:_SAMPLE]
    operands = [one for row in rows for one in situation.operands(row, plugin)]
    has = "has" if found.sum() == 1 else "have"
    if in_the_way := [one for one in operands if isinstance(one, PodsInTheWay)]:
        owners, key = Counter(_owner_of_pod(situation, one.pod) for one in in_the_way), in_the_way[0].topology_key
        domains = listed(sorted({one.domain for one in in_the_way if one.topology_key == key}), most=3)
        where = f"{has} a pod"
        if key != HOSTNAME:
            where = f"{'is' if has == 'has' else 'are'} in a {key} ({domains}) with a pod"
        from_them = all(isinstance(one, ExistingAntiAffinity) for one in in_the_way)
        why = (
            "whose own anti-affinity keeps the pod away"
            if from_them
            else "from which anti-affinity keeps the pod apart"
        )
        return f"{subject} {where} of {listed(list(owners), most=2)}{_only_pod(situation, in_the_way)}, {why}"
    if near := [one for one in operands if isinstance(one, NoPodNear)]:
        wanted, where = near[0].wanted, near[0].topology_key
        return f"pod affinity wants a pod with {wanted} in the same {where}, and {subject} {has} none"
    if ports := [one for one in operands if isinstance(one, PortInUse)]:
        owners = Counter(_owner_of_pod(situation, one.pod) for one in ports)
        first = f" ({ports[0].pod})" if len(ports) == 1 else ""
        return f"host port {ports[0].port} is taken on {subject} by {listed(list(owners), most=2)}{first}"
    if skewed := [one for one in operands if isinstance(one, SkewTooHigh)]:
        worst = skewed[0]
        where = f"{worst.domain} has {worst.matching} matching pods, the fewest is {worst.minimum}"
        return f"{subject} would break the spread over {worst.topology_key} ({where}, maxSkew {worst.max_skew})"
    if full := [one for one in operands if isinstance(one, TooManyVolumes)]:
        return f"{subject} {has} {full[0].attached} of at most {full[0].limit} volumes of {full[0].driver} attached"
    if short := [
        (request, situation.cluster.nodes.names[row])
        for row in rows
        for one in situation.operands(row, plugin)
        if isinstance(one, NotAllocated)
        for request in one.requests
        if request.lacking
    ]:
        return f"{subject} {has} {_too_few_devices(short, n_nodes=int(found.sum()))}"
    words = _first_words(situation, found)
    if words.startswith("node has "):
        return f"{subject} {has} {words.removeprefix('node has ')}"
    return f"{subject.removesuffix(',')}: {words}"


def _too_few_devices(short: list[tuple[RequestSupply, str]], *, n_nodes: int) -> str:
    """Return the shortage of devices on the closest node, as a verb phrase without its verb."""
    most, node = min(short, key=lambda each: each[0].lacking)
    wants = f"claim {most.claim} wants {most.wanted or 'all'}"
    if not any(request.of_class for request, _ in short):
        return f"no {most.device_class} devices, {wants}"
    parts = ((most.matching - most.free, "in use"), (most.tainted, "tainted"), (most.exhausted, "without the capacity"))
    why = ", ".join(f"{number} {words}" for number, words in parts if number)
    there = f"{most.matching} there{f', {why}' if why else ''}"
    if n_nodes == 1:
        return f"{most.usable} usable {most.device_class} devices ({there}), {wants}"
    nearest = f"{node} comes closest with" if n_nodes <= _SAMPLE else f"{node} has"
    return f"too few usable {most.device_class} devices: {wants}, {nearest} {most.usable} ({there})"


def _only_pod(situation: Situation, in_the_way: list[PodsInTheWay]) -> str:
    """Return the pod in the way in parentheses, if it is the only one and blocks a domain of several nodes, or ends."""
    first, pods = in_the_way[0], situation.cluster.pods
    namespace, _, name = first.pod.partition("/")
    index = pods.index.get((namespace, name))
    if index is None or {(each.pod, each.pods) for each in in_the_way} != {(first.pod, 1)}:
        return ""
    ending = ", which is being deleted" if pods.records[index].metadata.deletion_timestamp is not None else ""
    if first.topology_key == HOSTNAME and not ending:
        return ""
    name = "" if pods.owner(index) is None else f"{first.pod} "
    return f" ({name}on {pods.records[index].node_name}{ending})"


def _owner_of_pod(situation: Situation, key: str) -> str:
    namespace, _, name = key.partition("/")
    index = situation.cluster.pods.index.get((namespace, name))
    return situation.owner_of(index) if index is not None else f"Pod {key}"


def _first_words(situation: Situation, found: Mask) -> str:
    verdict = situation.decision.verdict(all_rows(found)[0])
    said = next((reasons for _, reasons in verdict.reasons), ())
    return ", ".join(reason.detail or reason.text for reason in said) or verdict.status.message


def _fragments(situation: Situation, nodes: Mask) -> Iterator[str]:
    """Yield the resources that are free in sum and on no single node."""
    if int(nodes.sum()) < 2:
        return
    for resource, wanted in situation.requests.items():
        free = np.maximum(situation.offered(resource) - situation.used(resource), 0)[nodes]
        if resource != PODS and situation.short_of(resource)[nodes].all() and int(free.sum()) >= wanted:
            total, most = (format_amount(resource, int(n)) for n in (free.sum(), free.max()))
            where = counted(int(nodes.sum()), "node")
            yield f"{total} {resource} are free in sum on {where}, at most {most} on one of them"


def _priorities(situation: Situation, nodes: Mask) -> Iterator[str]:
    """Yield why a pod of high priority preempts none: no pod on the full nodes has a lower one."""
    own, preemption = situation.pod.spec.priority or 0, situation.decision.preemption
    pods = situation.cluster.pods
    full = nodes & situation.rejected_by(_FIT)
    if own <= 0 or preemption is None or preemption.nominated or not full.any():
        return
    there = pods.assigned[full[pods.node_row[pods.assigned]]]
    if len(there) and int(pods.priority[there].min()) >= own:
        yield f"no pod there has a lower priority than this one ({own}), so none can be preempted"
