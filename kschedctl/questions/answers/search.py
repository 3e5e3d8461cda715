"""The search for feasible nodes, as part of the answer of ``explain``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.questions.answers.base import Data
from kschedctl.scheduler.cycle.decision import SearchScope


class SampledNodeData(Data, frozen=True):
    """A node that some start of the search leads to."""

    name: Annotated[str, Meta(description="The name of the node.")]
    starts: Annotated[int, Meta(description="The number of starts for which the node is a best node of the sample.")]
    chance: Annotated[
        float,
        Meta(
            description="The probability of the node if all starts are equally likely, from 0 to 1; equally good "
            "nodes of a sample share the probability of its starts."
        ),
    ]


class SearchData(Data, frozen=True):
    """The search for feasible nodes, as kube-scheduler makes it (percentageOfNodesToScore)."""

    scope: Annotated[
        SearchScope,
        Meta(
            description="The nodes that the search looks at. sample: it ends early, so that its start decides which "
            "nodes are scored; allNodes: it looks for as many feasible nodes as there are nodes; allFeasible: it finds "
            "all feasible nodes, as there are no more than it looks for; nominated: the pod fits on the node that it "
            "is nominated to; preFilter and podGroup: samples are not followed, because PreFilter leaves nodes in a "
            "random order, or because the pod is tried with its group."
        ),
    ]
    percentage: Annotated[
        int, Meta(description="The percentageOfNodesToScore of the profile; 0 if it depends on the number of nodes.")
    ]
    starts: Annotated[
        int, Meta(description="The number of possible starts, which is the number of nodes that are searched.")
    ]
    nodes_to_find: Annotated[int, Meta(description="The number of feasible nodes at which the search ends.")]
    followed: Annotated[bool, Meta(description="True if all starts were tried (--sampling).")] = False
    nodes: Annotated[
        tuple[SampledNodeData, ...],
        Meta(
            description="The nodes that the pod can be scheduled to over all starts, the most likely first; empty if "
            "the starts were not tried."
        ),
    ] = ()
    unscheduled: Annotated[
        int,
        Meta(
            description="The number of starts for which the pod is scheduled nowhere: extenders reject every node of "
            "the sample, or a plugin ends the cycle with an error."
        ),
    ] = 0
