"""The scores of the feasible nodes, including those of extenders (upstream ``prioritizeNodes``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import structs

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.find_nodes_that_pass_extenders import NodesPassingExtenders, ignored_extender_note
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extender import MAX_EXTENDER_PRIORITY, Extender, ExtenderError
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.scoring import Scores, run_score


def prioritize_nodes(framework: Framework, state: CycleState, pod: Pod, passed: NodesPassingExtenders) -> Scores:
    """Score the nodes that passed filters and extenders.

    Parameters
    ----------
    passed : NodesPassingExtenders
        The nodes that passed.

    Raises
    ------
    PluginError
        If a plugin ends the cycle with an error.
    """
    scores = run_score(
        framework, state, pod, passed.in_order(), framework_with_returned_nodes(framework, passed.objects)
    )
    extenders = [each for each in framework.handle.extenders if each.config.prioritize_verb and each.is_interested(pod)]
    # kube-scheduler does not run Score for a single feasible node.
    if not extenders or len(passed.rows) < 2:
        return scores
    objects = framework.cluster.nodes.objects
    nodes = [passed.objects.get(row) or objects[row] for row in passed.rows.tolist()]
    return _with_extenders(framework, state, pod, scores, extenders, nodes)


def _with_extenders(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    scores: Scores,
    extenders: Sequence[Extender],
    nodes: Sequence[Node],
) -> Scores:
    """Add the extenders' scores to those of the plugins; an extender that fails adds nothing."""
    # Few configurations have extenders.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(extenders)) as threads:
        asked = [threads.submit(extender.prioritize, pod, nodes) for extender in extenders]
    raw, normalized, weights = dict(scores.raw), dict(scores.normalized), dict(scores.weights)
    total = scores.total.copy()
    scale = np.int64(MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
    position = {framework.cluster.nodes.names[row]: i for i, row in enumerate(scores.rows.tolist())}
    for extender, answer in zip(extenders, asked, strict=True):
        try:
            given = _given(answer.result(), position)
        except ExtenderError as error:
            state.not_modelled.append(
                ignored_extender_note(
                    extender, f"it is ignorable and its prioritize call failed, so it gives no scores: {error}"
                )
            )
            continue
        # Two extenders may have the same address.
        name = _unused(extender.name, raw)
        raw[name], normalized[name], weights[name] = given, given * scale, extender.config.weight
        total += normalized[name] * np.int64(extender.config.weight)
    return structs.replace(scores, raw=raw, normalized=normalized, weights=weights, total=total)


def framework_with_returned_nodes(framework: Framework, objects: Mapping[int, Node]) -> Framework | None:
    """Return the profile over the nodes that an extender sent back.

    kube-scheduler knows neither the pods nor the images of such nodes, so they count as empty.

    Parameters
    ----------
    objects : mapping of int to Node
        The nodes that an extender sent back, by row.

    Returns
    -------
    Framework or None
        ``None`` if ``objects`` is empty.
    """
    if not objects:
        return None
    cluster = framework.cluster
    nodes = list(cluster.nodes.objects)
    for row, node in objects.items():
        nodes[row] = structs.replace(node, status=structs.replace(node.status, images=()))
    gone = np.flatnonzero(np.isin(cluster.pods.node_row, list(objects)))
    return framework.moved(cluster.with_pods(removed=gone.tolist()).with_nodes(nodes))


def _given(answer: Sequence[tuple[str, int]], position: Mapping[str, int]) -> Int64Array:
    """Return an extender's scores by node.

    A node that is missing in the response gets 0. The scores of a node that occurs more than once are summed.
    """
    given = [0] * len(position)
    for host, score in answer:
        if host in position:
            given[position[host]] += score
    # int64 sums wrap around on overflow, as in Go.
    return np.array([(each + 2**63) % 2**64 - 2**63 for each in given], dtype=np.int64)


def _unused(name: str, taken: Mapping[str, object]) -> str:
    number = 2
    own = name
    while own in taken:
        own, number = f"{name} ({number})", number + 1
    return own
