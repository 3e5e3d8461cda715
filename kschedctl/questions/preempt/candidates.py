"""The candidates of a preemption as data: the victims of all candidates are made in one pass."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from kschedctl.cluster.pods import Pods
from kschedctl.objects.meta import OwnerReference
from kschedctl.questions.preempt.answer import (
    BudgetData,
    LostAtData,
    OwnerData,
    PreemptCandidateData,
    TiedVictimsData,
    VictimData,
)
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.preemption.dry_run_preemption import DryRun
from kschedctl.scheduler.preemption.result import Coverage, PreemptionResult
from kschedctl.scheduler.preemption.select_candidate import CRITERIA
from kschedctl.scheduler.preemption.tied_victims import PossibleVictims, possible_victims
from kschedctl.trials.simulate.world import grace_seconds

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def candidates_data(
    decision: Decision, found: PreemptionResult, examined: Collection[str]
) -> tuple[PreemptCandidateData, ...]:
    """Return the candidates, those that can be nominated first, then the closest.

    Args:
        found: The result of preemption, or of a search that stops earlier.
        examined: The candidates whose possible victims are determined, if pods tie.
    """
    run, choice = found.run, found.choice
    if run is None or choice is None:
        return ()
    nodes, pods = decision.cluster.nodes, decision.cluster.pods
    tied = {nodes.row[name]: possible_victims_of(decision, name) for name in examined}
    victims = _victims_data(decision, run, found.coverage, _certain(run, tied))
    rows, first = run.victims.rows.tolist(), [*run.victims.first.tolist(), len(victims)]
    n_violations, lost_at = choice.values[0].tolist(), choice.lost_at.tolist()
    own, best = choice.values.T.tolist(), choice.values[:, choice.best[0]].tolist()
    return tuple(
        PreemptCandidateData(
            nodes.names[row],
            nodes.zones[row],
            victims[first[world] : first[world + 1]],
            n_violations[world],
            LostAtData(at + 1, CRITERIA[at], own[world][at], best[at]) if at >= 0 else None,
            _tied_data(pods, tied.get(row)),
        )
        for world in found.order.tolist()
        for row, at in ((rows[world], lost_at[world]),)
    )


def possible_victims_of(decision: Decision, node: str) -> PossibleVictims | None:
    """Return the sets of victims that the order of tied pods decides between; ``None`` for a node without victims."""
    preemption = decision.preemption
    if preemption is None or preemption.run is None:
        return None
    row = decision.cluster.nodes.row[node]
    return possible_victims(decision.framework, decision.state, decision.pod, preemption.run, row)


def _tied_data(pods: Pods, tied: PossibleVictims | None) -> TiedVictimsData | None:
    if tied is None or tied.n_sets == 1:
        return None
    sets = tuple(tuple(sorted(map(pods.key, members))) for members in tied.sets)
    return TiedVictimsData(tied.n_sets, tied.complete, sets, tuple(sorted(map(pods.key, tied.possible))))


def _certain(run: DryRun, tied: Mapping[int, PossibleVictims | None]) -> list[bool]:
    """Return the victims that are certain, or that are not known to tie with other pods.

    Args:
        tied: The possible victims of some candidates, by row.
    """
    certain, pods = [True] * len(run.victims), run.victims.pods.tolist()
    for row, possible in tied.items():
        for entry in run.victims.entries(int(np.searchsorted(run.victims.rows, row))):
            certain[entry] = possible is None or pods[entry] in possible.certain
    return certain


def _victims_data(
    decision: Decision, run: DryRun, coverage: Sequence[Coverage], certain: Sequence[bool]
) -> tuple[VictimData, ...]:
    """Return the victims of all candidates, in the order of their entries."""
    pods, indices, taken = decision.cluster.pods, run.victims.pods, decision.cluster.taken_at
    seconds: list[int] | None = None
    if taken is not None:
        microseconds = (taken - _EPOCH) // timedelta(microseconds=1) - pods.start_time[indices]
        seconds = np.maximum(microseconds // 1_000_000, 0).tolist()
    priorities, violating = pods.priority[indices].tolist(), run.violating.tolist()
    budgets, owners, out = _budgets_data(run, coverage), dict[int, OwnerData | None](), []
    # One pass: with a pass per field, each would find the records gone from the processor's cache.
    for i, record in enumerate(pods.some_records(indices)):
        own, spec, started = record.metadata, record.spec, record.status.start_time
        # Replicas share the references to their owners.
        key = id(own.owner_references)
        if key not in owners:
            owners[key] = owner_data(own.controller)
        out.append(
            VictimData(
                f"{own.namespace}/{own.name}",
                priorities[i],
                spec.priority_class_name,
                started,
                seconds[i] if seconds is not None and started is not None else None,
                own.deletion_timestamp is not None,
                owners[key],
                grace_seconds(spec),
                violating[i],
                budgets[i],
                certain[i],
            )
        )
    return tuple(out)


def owner_data(owner: OwnerReference | None) -> OwnerData | None:
    """Return the controller of a pod as data."""
    return OwnerData(owner.kind, owner.name) if owner is not None else None


def _budgets_data(run: DryRun, coverage: Sequence[Coverage]) -> list[tuple[BudgetData, ...]]:
    """Return the disruption budgets that cover each victim."""
    out: list[tuple[BudgetData, ...]] = [()] * len(run.victims)
    for each in coverage:
        budget, worlds = each.budget, run.victims.worlds[each.entries]
        evicted = np.bincount(worlds)[worlds].tolist()
        for entry, number, violated in zip(each.entries.tolist(), evicted, each.violated.tolist(), strict=True):
            below = max(number - budget.allowed, 0)
            out[entry] += (BudgetData(budget.name, budget.allowed, number, below, violated),)
    return out
