"""The changes that would let more pods be placed; answers read them without the solver."""

from enum import StrEnum


class Lever(StrEnum):
    """The kind of adjustment that leads the scheduler to the best placement."""

    ORDER = "order"
    PRIORITY = "priority"
    REQUESTS = "requests"
