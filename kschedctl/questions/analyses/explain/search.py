"""The search for feasible nodes, and with ``--sampling`` the nodes that its starts lead to."""

from __future__ import annotations

import random

from msgspec import structs

from kschedctl.questions.analyses.explain.summary import summary
from kschedctl.questions.answers.explain import Explanation
from kschedctl.questions.answers.search import SampledNodeData, SearchData
from kschedctl.scheduler.cycle.decision import Decision, SearchScope
from kschedctl.scheduler.cycle.sampling import nodes_to_find, sampled_choice, search_scope


def search_data(decision: Decision, percentage: int, *, followed: bool) -> SearchData:
    """Return the search for the pod of a decision, which schedules it.

    Parameters
    ----------
    percentage : int
        The ``percentageOfNodesToScore`` that applies to the pod's profile.
    followed : bool
        True to try all starts.
    """
    search = SearchData(
        scope=search_scope(decision, percentage),
        percentage=percentage,
        starts=len(decision.searched),
        nodes_to_find=nodes_to_find(decision, percentage),
    )
    if not followed:
        return search
    choice = sampled_choice(decision, percentage)
    names = decision.cluster.nodes.names
    found = zip(choice.rows.tolist(), choice.starts.tolist(), choice.chance.tolist(), strict=True)
    return structs.replace(
        search,
        followed=True,
        nodes=tuple(SampledNodeData(names[row], starts, chance) for row, starts, chance in found),
        unscheduled=choice.unscheduled,
    )


def with_samples(answer: Explanation, search: SearchData, seed: int | None) -> Explanation:
    """Return an answer that all starts of the search were tried for.

    Parameters
    ----------
    seed : int or None
        The seed of the random choice of a start and of a node; ``None`` to choose none.
    """
    verdict, nodes = answer.verdict, search.nodes
    if search.scope is SearchScope.SAMPLE:
        picked = nodes[0].name if len(nodes) == 1 else None
        if seed is not None and nodes:
            names, weights = [node.name for node in nodes], [node.chance for node in nodes]
            picked = random.Random(seed).choices(names, weights)[0]
        verdict = structs.replace(verdict, picked=picked)
    text = summary(
        answer.pod,
        verdict,
        n_nodes=len(answer.nodes),
        gate="",
        scores=answer.scores,
        preemption=None,
        cause=answer.diagnoses[0].cause if answer.diagnoses else "",
        group=answer.group,
        search=search,
    )
    return structs.replace(answer, search=search, verdict=structs.replace(verdict, summary=text))
