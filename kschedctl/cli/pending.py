"""``kschedctl pending``."""

from kschedctl.cli.command import asking
from kschedctl.questions.pending.request import PendingRequest

pending = asking(PendingRequest, "pending")
