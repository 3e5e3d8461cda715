"""The extension points of the scheduling framework, named as a KubeSchedulerConfiguration names them."""

from enum import StrEnum


class ExtensionPoint(StrEnum):
    """An extension point. The values are the fields of ``plugins``.

    First those of a scheduling cycle, in their order, then those of pod groups.
    """

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"
    PLACEMENT_FEASIBLE = "placementFeasible"
    POD_GROUP_POST_FILTER = "podGroupPostFilter"
