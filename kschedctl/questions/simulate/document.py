"""The document of ``simulate``: the answer, pending pods and why, evictions, placements, and resource utilisation."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np

from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import counted, duration, listed
from kschedctl.questions.answer import readable
from kschedctl.questions.charts import shares, utilisation_bars
from kschedctl.questions.document import Document, Heading, Paragraph, Question, Tone, and_more, table
from kschedctl.questions.frame import View, cautions, cures_section, first_line, header, next_questions
from kschedctl.questions.node_map import pods_map
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.questions.pod_timeline import pod_timeline
from kschedctl.questions.simulate.answer import (
    EvictionData,
    GroupResult,
    Simulated,
    SlowestPodData,
    UtilisationData,
    WaitingData,
)
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

#: The number of nodes and names per row without ``-o wide``.
_FEW: Final = 3
#: The default of terminationGracePeriodSeconds.
_USUAL_GRACE: Final = 30
#: The number of rows of the timeline on a page.
_ROWS_OF_A_PAGE: Final = 2000
#: The title of the table and the chart of requests.
UTILISATION: Final = "Requested share of allocatable"


class SimulateView(View, frozen=True, kw_only=True):
    """The part of an answer that is shown."""

    #: The snapshot that the final state was written to; empty if it was not written.
    saved: str = ""


_GANG_RESULTS: Final = {
    GroupResult.PLACED: "placed whole",
    GroupResult.PART: "placed in part",
    GroupResult.GATED: "not tried: {}",
    GroupResult.WAITING: "waits: {}",
}


def document(answer: Simulated, view: View) -> Document:
    """Lay out an answer."""
    waits = bool(answer.waiting)
    tone = Tone.CAUTION if answer.interrupted else Tone.BAD if waits and not answer.placed else Tone.MIXED
    tone = tone if waits or answer.interrupted else Tone.GOOD
    yield from first_line(answer, answer.summary, tone, ("Simulation of the queue",))
    yield from header(answer, view.now)
    if answer.attempts:
        took = duration(round(answer.seconds)) if answer.seconds >= 1 else "less than a second"
        tried = counted(len(answer.attempts), "scheduling cycle")
        took = f"{took} of virtual time{slowest_words(answer.slowest)}"
        yield Paragraph(f"{tried}, {took}; among equal nodes {answer.chance}", Tone.FAINT)
    if answer.ended:
        n_ended = len(answer.ended)
        verb = "leaves at its" if n_ended == 1 else "leave at their"
        names = listed(answer.ended, most=n_ended if view.wide else _FEW)
        told = f"{counted(n_ended, 'pod')} being deleted in the snapshot {verb} deletion time: {names}"
        yield Paragraph(told, Tone.FAINT)
    if answer.groups:
        yield Heading("Gangs" if all(group.min_count is not None for group in answer.groups) else "Pod groups")
        rows = [
            (
                group.key,
                str(group.min_count) if group.min_count is not None else "-",
                f"{group.placed} of {group.pods}",
                str(group.attempts),
                _GANG_RESULTS[group.result].format(
                    (group.cause if group.result is GroupResult.GATED else group.count) or group.message
                ),
            )
            for group in answer.groups
        ]
        tones = [Tone.PLAIN if group.result is GroupResult.PLACED else Tone.BAD for group in answer.groups]
        yield table(("group", "minCount", "placed", "attempts", "result"), rows, numeric=(1, 3), tones=tones)
    yield from waiting_pods(answer.waiting, every=view.wide)
    yield from cures_section(answer.cures, every=view.wide)
    if view.drawn:
        yield from _charts(answer, view.overview)
    places = {placement.pod: placement.node for placement in answer.placements}
    members = {attempt.group: attempt.members for attempt in answer.group_attempts}
    nodes = {group: Counter(places[pod] for pod in pods if pod in places) for group, pods in members.items()}
    again = places | {f"pod group {group}": _counts(counts, every=False) for group, counts in nodes.items()}
    yield from evictions(answer.evicted, again, every=view.wide)
    yield from _workloads(answer, every=view.wide)
    if answer.placed and not view.drawn:
        changed = [each for each in answer.utilisation if view.wide or not each.zone or each.before != each.after]
        yield from utilisation_section(changed)
    if view.wide:
        yield from timeline(answer.timeline, answer.began, drawn=view.drawn)
    yield from cautions(answer)
    saved = view.saved if isinstance(view, SimulateView) else ""
    yield from next_questions(() if view.wide else _questions(answer, saved))


def _charts(answer: Simulated, overview: NodesOverview | None) -> Document:
    drawn = pod_timeline(answer.timeline, answer.began)
    if drawn is not None and drawn.is_short:
        yield drawn
    if overview is not None and (answer.placements or answer.evicted):
        arrive = ((each.node, each.pod) for each in answer.placements)
        yield pods_map(overview, arrive, ((each.node, each.pod) for each in answer.evicted))
    if answer.placed and answer.utilisation:
        yield utilisation_bars(answer.utilisation, UTILISATION)
    if drawn is not None and not drawn.is_short:
        yield drawn


def _questions(answer: Simulated, saved: str) -> Iterator[Question]:
    if answer.attempts:
        yield Question("Timeline", "simulate", options={"output": "wide", "save": None, "force": None})
    if saved and answer.waiting:
        yield Question("A pending pod in detail", "explain", answer.waiting[0].pods[0], snapshot=saved)
    elif answer.attempts and not saved:
        yield Question("Save the final state", "simulate", options={"save": "after"})


def waiting_pods(groups: Sequence[WaitingData], *, every: bool) -> Document:
    """Lay out the pending pods by reason."""
    if not groups:
        return
    yield Heading("Pending pods")
    rows = []
    for group in groups:
        names = listed(group.pods, most=len(group.pods) if every else _FEW)
        if group.group:
            names = f"group {group.group}: {names}" if every else f"group {group.group}"
        # The cause and the message of the scheduler, one line each; an error is both.
        why = tuple(dict.fromkeys(line for line in (group.cause, group.message) if line)) or ("not tried",)
        if group.gated:
            why = (f"not tried: {group.cause}" if group.cause else f"gated: {group.message}",)
        rows.append((str(len(group.pods)), names, why))
    yield table(("pods", "names", "reason"), rows, numeric=(0,))


def slowest_words(slowest: SlowestPodData | None) -> str:
    """Return the pod that makes a simulation long, as a clause; empty unless a pod has more than the usual 30 s."""
    if slowest is None or slowest.grace_seconds <= _USUAL_GRACE:
        return ""
    return f" ({slowest.pod} takes up to {duration(slowest.grace_seconds)} to stop, the longest grace period)"


def evictions(evicted: Sequence[EvictionData], places: Mapping[str, str], *, every: bool) -> Document:
    """Lay out the evicted pods, and the pods that they are evicted for.

    Args:
        places: The nodes of the pods that evict, by ``namespace/name``.
    """
    if not evicted:
        return
    yield Heading("Evicted pods")
    shown = evicted if every else evicted[: 4 * _FEW]
    rows = [
        (
            f"{each.pod} (lost for good: no controller)" if each.lost else each.pod,
            each.node,
            each.by,
            places.get(each.by, ""),
        )
        for each in shown
    ]
    yield table(("pod", "from", "preemptor", "preemptor's node"), rows, identifiers=range(4))
    yield from and_more(len(evicted) - len(shown))


def _workloads(answer: Simulated, *, every: bool) -> Document:
    if not answer.workloads:
        return
    yield Heading("Placements")
    rows = [
        (
            f"{each.kind} {each.namespace}/{each.name}",
            f"{each.placed} of {each.pods}",
            _counts(each.zones, every=True) or "-",
            _counts(each.nodes, every=every) or "-",
        )
        for each in answer.workloads
    ]
    tones = [
        Tone.PLAIN if each.placed == each.pods else Tone.MIXED if each.placed else Tone.BAD for each in answer.workloads
    ]
    yield table(("workload", "placed", "zones", "nodes"), rows, tones=tones)


def _counts(counts: Mapping[str, int], *, every: bool) -> str:
    """Format counts as ``node-1 x3, node-2``, highest count first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    texts = [name if count == 1 else f"{name} x{count}" for name, count in ordered]
    return listed(texts, most=len(texts) if every else _FEW) if texts else ""


def utilisation_section(utilisation: Sequence[UtilisationData], note: str = "") -> Document:
    """Lay out the requests before and after as a table, with a note about the allocatable amounts."""
    if not utilisation:
        return
    yield Heading(UTILISATION)
    rows = [
        (each.zone or "all nodes", each.resource, *shares(each), readable(each.resource, each.allocatable))
        for each in utilisation
    ]
    yield table(("zone", "resource", "before", "after", "allocatable"), rows, numeric=(2, 3, 4))
    if note:
        yield Paragraph(note, Tone.FAINT, 2)


def timeline(entries: Sequence[TimelineEntry], began: datetime, *, drawn: bool) -> Document:
    """Lay out the events with the time since the start; equal events of a pod group at one time are one row.

    Args:
        drawn: True for a page: it shows up to 2,000 rows, so that it stays small.
    """
    yield Heading("Timeline")
    rows: list[tuple[str | Sequence[str], ...]] = []
    # Only neighbouring entries about one attempt at a pod group are in one row.
    keys = [(entry.time, entry.event, entry.group) if entry.group else i for i, entry in enumerate(entries)]
    for _, alike in groupby(zip(keys, entries, strict=True), key=itemgetter(0)):
        together = [entry for _, entry in alike]
        first = together[0]
        time, event = f"{(first.time - began).total_seconds():.3f} s", str(first.event)
        if len(together) == 1:
            rows.append((time, first.pod, event, first.node, first.why))
            continue
        who = f"{counted(len(together), 'pod')} of group {first.group}"
        nodes = Counter(entry.node for entry in together if entry.node)
        reasons = Counter(entry.why for entry in together)
        why = [f"{counted(number, 'pod')}: {why}" for why, number in reasons.items()]
        rows.append((time, who, event, _counts(nodes, every=False), why if len(why) > 1 else list(reasons)))
    shown = rows[:_ROWS_OF_A_PAGE] if drawn else rows
    yield table(("time", "pod", "event", "node", "reason"), shown, numeric=(0,), identifiers=(1, 3))
    yield from and_more(len(rows) - len(shown))


# The document of a simulation, which notebooks show: the outcome so far and the last events.

#: The number of events that are shown without ``-o wide``.
_SIMULATION_FEW: Final = 40


def simulation_document(simulation: Simulation, view: View) -> Document:
    """Lay out the state of a simulation; the simulation does not go on."""
    events = Counter(entry.event for entry in simulation.timeline)
    n_placed = events[TimelineEvent.SCHEDULED]
    n_evicted = events[TimelineEvent.PREEMPTED] + events[TimelineEvent.EVICTED]
    n_pending = int(np.count_nonzero(simulation.cluster.pods.node_row == PENDING))
    counts = [f"{n_placed} placed", f"{n_pending} pending", *([f"{n_evicted} evicted"] if n_evicted else [])]
    seconds = (simulation.now() - simulation.began).total_seconds()
    tone = Tone.MIXED if n_pending else Tone.GOOD
    yield Paragraph(f"{', '.join(counts)} after {seconds:.3f} s of virtual time", tone)
    shown = simulation.timeline if view.wide else simulation.timeline[-_SIMULATION_FEW:]
    if shown:
        yield from timeline(shown, simulation.began, drawn=view.drawn)
    if len(shown) < len(simulation.timeline):
        yield Paragraph(f"after {counted(len(simulation.timeline) - len(shown), 'earlier event')}", Tone.FAINT, 2)
