"""The last goal of a placement, a choice of the user; the options of commands import no solver."""

from enum import StrEnum


class FinalGoal(StrEnum):
    """The goal that decides between placements that are equal in all other goals."""

    SCORES = "scores"
    NODES = "nodes"
