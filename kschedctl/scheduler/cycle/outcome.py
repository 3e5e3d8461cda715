"""The outcomes of a scheduling cycle: for a pod, and for a pod group."""

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of a scheduling cycle."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    ERROR = "error"
    #: No profile has the pod's ``schedulerName``.
    OTHER_SCHEDULER = "notOurs"


class GroupOutcome(StrEnum):
    """The outcome of an attempt at a group."""

    SCHEDULED = "scheduled"
    PREEMPTING = "preempting"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class SearchScope(StrEnum):
    """The nodes that a search for feasible nodes looks at."""

    #: The search stops early, so that the start decides which nodes are scored.
    SAMPLE = "sample"
    #: The search looks for as many feasible nodes as there are nodes.
    ALL_NODES = "allNodes"
    #: There are no more feasible nodes than the search looks for.
    ALL_FEASIBLE = "allFeasible"
    #: The pod fits on the node that it is nominated to, so that no other node is looked at.
    NOMINATED = "nominated"
    #: Not followed: PreFilter names the nodes, and kube-scheduler goes through them in a random order.
    PRE_FILTER = "preFilter"
    #: Not followed: the pod is tried with its group, whose earlier members depend on samples, too.
    POD_GROUP = "podGroup"
