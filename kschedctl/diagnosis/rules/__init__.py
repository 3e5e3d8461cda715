"""The rules: each looks at a situation and yields the causes that it finds. The table has the order of importance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.rules import idle_scheduler, nominated_waits, obstacles
from kschedctl.diagnosis.situation import Situation

Rule = Callable[[Situation], Iterable[Diagnosis]]

#: The rules for pods that are not scheduled. The first cause found is the one of the first line.
RULES: Final[tuple[Rule, ...]] = (nominated_waits.check,)
#: The rule that always finds a cause; it is asked if no other finds one.
LAST: Final[Rule] = obstacles.check
#: The rules for pods that are scheduled, or run.
RULES_OF_PLACED: Final[tuple[Rule, ...]] = (idle_scheduler.check,)
