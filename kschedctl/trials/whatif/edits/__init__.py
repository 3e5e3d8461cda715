"""The what-if edits, one module per edit, and ``EDITS``, the list from which commands and the API take them."""

from __future__ import annotations

from typing import Final

from kschedctl.trials.whatif.edit import Edit
from kschedctl.trials.whatif.edits.apply.edit import Apply
from kschedctl.trials.whatif.edits.cordon import Cordon
from kschedctl.trials.whatif.edits.delete.edit import Delete
from kschedctl.trials.whatif.edits.drain import Drain
from kschedctl.trials.whatif.edits.drop_constraint import DropConstraint
from kschedctl.trials.whatif.edits.fail_zone import FailZone
from kschedctl.trials.whatif.edits.label import LabelNode
from kschedctl.trials.whatif.edits.node_selector import SetNodeSelector
from kschedctl.trials.whatif.edits.set_priority import SetPriority
from kschedctl.trials.whatif.edits.set_replicas.edit import SetReplicas
from kschedctl.trials.whatif.edits.set_request import SetRequest
from kschedctl.trials.whatif.edits.taint import TaintNode
from kschedctl.trials.whatif.edits.tolerate import Tolerate

#: All edit classes, in the order in which the edits take effect.
EDITS: Final[tuple[type[Edit], ...]] = (
    Apply,
    Delete,
    SetReplicas,
    LabelNode,
    TaintNode,
    Cordon,
    Drain,
    FailZone,
    SetRequest,
    Tolerate,
    SetPriority,
    SetNodeSelector,
    DropConstraint,
)

__all__ = [
    "EDITS",
    "Apply",
    "Cordon",
    "Delete",
    "Drain",
    "DropConstraint",
    "Edit",
    "FailZone",
    "LabelNode",
    "SetNodeSelector",
    "SetPriority",
    "SetReplicas",
    "SetRequest",
    "TaintNode",
    "Tolerate",
]
