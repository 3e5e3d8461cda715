"""``kschedctl drain``."""

from kschedctl.cli.command import asking
from kschedctl.questions.drain.request import DrainRequest

drain = asking(DrainRequest, "drain")
