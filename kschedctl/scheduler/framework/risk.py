"""The scope and the risk of a remedy."""

from enum import IntEnum, StrEnum


class RemedyScope(StrEnum):
    """The kind of object that a remedy changes: the pod itself, a node, or another object of the cluster."""

    POD = "pod"
    NODE = "node"
    CLUSTER = "cluster"


class Risk(IntEnum):
    """The risk of a remedy, from the lowest. Remedies of lower risk are reported first."""

    #: Nothing is changed: preemption, which is on its way, places the pod.
    WAIT = 1
    #: An obvious mistake is corrected, such as the name of a claim that does not exist, or a forgotten cordon.
    MISTAKE = 2
    #: The pod's own spec is changed, with no loss of safety.
    POD = 3
    #: A node of an existing shape is added.
    CAPACITY = 4
    #: A node or another object is changed that other pods share.
    SHARED = 5
    #: Other pods are evicted or deleted.
    EVICTION = 6
    #: The pod gets less: a smaller request, or a weaker constraint.
    REDUCED = 7
    #: The pod loses a constraint.
    DROPPED = 8
    #: Data must be copied.
    DATA = 9
