"""The nodes that a DaemonSet leaves out: its controller creates no pod for a node that would refuse it.

There is no pending pod that would show the reason. A node of the control plane is usually left out on purpose.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.node_selection import nodes_matching_pod, required_node_selector
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.pods import eligible_nodes, for_node, untolerated_taints, with_daemon_tolerations
from kschedctl.controllers.workloads.template import fresh_pod, generated_name
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node, Taint
from kschedctl.objects.pod import CONTROL_PLANE_TAINTS, UNSAFE_TAINTS, Pod, PodSpec, Toleration, toleration_of
from kschedctl.objects.selectors import label_map_selector, parse_node_term
from kschedctl.objects.workload import DaemonSet
from kschedctl.questions.answer_parts import CureData
from kschedctl.questions.explain.answer import LeftOutData, WorkloadData
from kschedctl.questions.provenance import PodSubject
from kschedctl.trials.loaded_cluster import LoadedCluster

#: The number of nodes for which a toleration is tried.
_MOST_TRIED: Final = 50


def spec_of_daemon_set(cluster: LoadedCluster, pod: PodSubject) -> PodSpec:
    """Return the spec that decides for which nodes a DaemonSet creates pods.

    The pod of a manifest has the affinity to its node in place of that of its template, so that the nodes which only
    the node affinity leaves out are unknown.
    """
    workload = pod.workload
    stored = cluster.cluster.get(DaemonSet, workload.name, workload.namespace) if workload is not None else None
    if stored is not None and stored.spec.template is not None and not pod.where:
        return with_daemon_tolerations(stored.spec.template.spec)
    affinity = pod.pod.spec.affinity
    return replace(pod.pod.spec, affinity=replace(affinity, node_affinity=None) if affinity is not None else None)


def left_out_nodes(cluster: LoadedCluster, spec: PodSpec, but: Iterable[str] = ()) -> tuple[LeftOutData, ...]:
    """Return the nodes for which a DaemonSet creates no pod, by cause; those that are left out by taints come first.

    Args:
        spec: The spec that decides, with the tolerations that the controller adds.
        but: The nodes that the DaemonSet has pods for.
    """
    there = {*but, *eligible_nodes(cluster.nodes, spec)}
    groups: dict[tuple[tuple[Taint, ...], str], list[str]] = {}
    selected = nodes_matching_pod(cluster.nodes, spec)
    for row, node in enumerate(cluster.nodes.objects):
        if node.name not in there:
            key = untolerated_taints(spec, node.spec.taints), "" if selected[row] else _unmet(spec, node)
            groups.setdefault(key, []).append(node.name)
    ordered = sorted(groups.items(), key=lambda item: (not item[0][0], -len(item[1])))
    return tuple(
        LeftOutData(
            nodes=tuple(names),
            cause=_cause(names, taints, unmet),
            expected=bool(taints) and all(taint.key in CONTROL_PLANE_TAINTS for taint in taints),
            taints=taints,
            unmet=unmet,
        )
        for (taints, unmet), names in ordered
    )


def _unmet(spec: PodSpec, node: Node) -> str:
    """Return the part of a template's selection that a node does not meet."""
    labels = node.metadata.labels
    unmet = [each for each in label_map_selector(spec.node_selector) if not each.holds(labels.get(each.key))]
    if unmet:
        return f"nodeSelector {listed(list(map(str, unmet)))}"
    required = required_node_selector(spec)
    terms = required.node_selector_terms if required is not None else ()
    if len(terms) == 1 and (parsed := parse_node_term(terms[0])) is not None:
        wanted = [str(each) for each in parsed.labels if not each.holds(labels.get(each.key))]
        return f"node affinity {listed(wanted)}" if wanted else "the node affinity"
    return "the node affinity"


def _cause(names: Sequence[str], taints: Sequence[Taint], unmet: str) -> str:
    who, one = listed(names, most=3), len(names) == 1
    causes = []
    if taints:
        what = f"the taint {taints[0]}" if len(taints) == 1 else f"the taints {listed(list(map(str, taints)))}"
        causes.append(f"{who} {'has' if one else 'have'} {what}, which the template does not tolerate")
    if unmet:
        causes.append(f"{'' if taints else f'{who} '}{'does' if one else 'do'} not meet {unmet} of the template")
    return ", and ".join(causes) or f"{who} {'is' if one else 'are'} not the node of the template"


def left_out_cures(cluster: LoadedCluster, pod: PodSubject, left: Iterable[LeftOutData]) -> Iterator[CureData]:
    """Yield for each cause the toleration with which the nodes get pods, tried, or the selection to look at."""
    workload = pod.workload
    assert workload is not None
    of = f"in the template of DaemonSet {workload.namespace}/{workload.name}"
    for each in left:
        # No ordinary pod tolerates the taints of the control plane, of unhealthy and of leaving nodes.
        if each.expected or any(taint.key.startswith(UNSAFE_TAINTS) for taint in each.taints):
            continue
        if each.unmet:
            yield CureData(
                f"if {listed(each.nodes, most=3)} should have a pod: change {each.unmet} {of}",
                "",
                (f"kubectl edit daemonset {workload.name} -n {workload.namespace}",),
                "the snapshot does not show for which nodes the DaemonSet is meant",
            )
            continue
        tolerations = tuple(map(toleration_of, each.taints))
        patch = [
            {"op": "add", "path": "/spec/template/spec/tolerations/-", "value": msgspec.to_builtins(toleration)}
            for toleration in tolerations
        ]
        if not _has_tolerations(cluster, workload):
            value = [each["value"] for each in patch]
            patch = [{"op": "add", "path": "/spec/template/spec/tolerations", "value": value}]
        yield CureData(
            f"tolerate {listed(list(map(str, each.taints)))} {of}",
            _outcome(cluster, pod.pod, tolerations, each.nodes),
            (f"kubectl patch daemonset {workload.name} -n {workload.namespace} --type=json -p '{json.dumps(patch)}'",),
        )


def _has_tolerations(cluster: LoadedCluster, workload: WorkloadData) -> bool:
    stored = cluster.cluster.get(DaemonSet, workload.name, workload.namespace)
    return stored is not None and stored.spec.template is not None and bool(stored.spec.template.spec.tolerations)


def _outcome(cluster: LoadedCluster, pod: Pod, tolerations: Sequence[Toleration], nodes: Sequence[str]) -> str:
    """Return the number of nodes that the pods of a DaemonSet with more tolerations fit on, with the first obstacle."""
    tried, n_fit, why = nodes[:_MOST_TRIED], 0, ""
    spec = replace(pod.spec, node_name="", tolerations=(*pod.spec.tolerations, *tolerations))
    for number, node in enumerate(tried):
        made = fresh_pod(pod, name=generated_name(f"{pod.name}-", number))
        decision = cluster.decide_admitted(cluster.admit(replace(made, spec=for_node(spec, node))).pod)
        n_fit += decision.schedulable
        if not decision.schedulable and not why:
            found = diagnose(decision)
            why = f" ({node}: {found[0].cause})" if found else ""
    if n_fit == len(tried):
        return f"{listed(nodes, most=3)} {'gets a pod' if len(nodes) == 1 else 'get a pod each'}, which fits"
    return f"the pods fit on {n_fit} of {counted(len(tried), 'node')}{why}"
