"""The arguments of a command as they were given: of options that belong together their order says which."""

from __future__ import annotations

from typing import Final

#: Where the context of a command keeps them.
GIVEN: Final = "kschedctl.given"
