"""The document of a simulation, which notebooks show: the outcome so far and the last events."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import counted
from kschedctl.questions.presentation.document import Document, Paragraph
from kschedctl.questions.presentation.frame import View
from kschedctl.questions.presentation.simulate import timeline
from kschedctl.questions.presentation.tone import Tone
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEvent

#: The number of events that are shown without ``-o wide``.
_FEW: Final = 40


def document(simulation: Simulation, view: View) -> Document:
    """Lay out the state of a simulation; the simulation does not go on."""
    events = Counter(entry.event for entry in simulation.timeline)
    n_placed = events[TimelineEvent.SCHEDULED]
    n_evicted = events[TimelineEvent.PREEMPTED] + events[TimelineEvent.EVICTED]
    n_pending = int(np.count_nonzero(simulation.cluster.pods.node_row == PENDING))
    counts = [f"{n_placed} placed", f"{n_pending} pending", *([f"{n_evicted} evicted"] if n_evicted else [])]
    seconds = (simulation.now() - simulation.began).total_seconds()
    tone = Tone.MIXED if n_pending else Tone.GOOD
    yield Paragraph(f"{', '.join(counts)} after {seconds:.3f} s of virtual time", tone)
    shown = simulation.timeline if view.wide else simulation.timeline[-_FEW:]
    if shown:
        yield from timeline(shown, simulation.began, drawn=view.drawn)
    if len(shown) < len(simulation.timeline):
        yield Paragraph(f"after {counted(len(simulation.timeline) - len(shown), 'earlier event')}", Tone.FAINT, 2)
