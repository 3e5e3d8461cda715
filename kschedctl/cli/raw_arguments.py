"""The raw arguments of a command, for options whose order on the command line matters."""

from __future__ import annotations

from typing import Final

#: The key of the raw arguments in the ``meta`` dict of a command's context.
GIVEN: Final = "kschedctl.given"
