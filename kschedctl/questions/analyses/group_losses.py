"""The pod groups that lose members in a simulation, as part of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.group_losses import GroupLossData
from kschedctl.trials.simulate.aftermath import GroupLoss


def group_loss_data(losses: Iterable[GroupLoss]) -> tuple[GroupLossData, ...]:
    """Return the groups as data."""
    return tuple(
        GroupLossData(
            namespace=loss.namespace,
            name=loss.name,
            min_count=loss.pod_group.spec.min_count if loss.pod_group is not None else None,
            disrupted_as_a_whole=loss.pod_group is not None and loss.pod_group.spec.disrupts_all,
            evicted=tuple(loss.evicted),
            preempted=tuple(loss.preempted),
            before=loss.before,
            fewest=loss.fewest,
            after=len(loss.on_nodes),
        )
        for loss in losses
    )


def losses_in_words(groups: Iterable[GroupLossData]) -> Iterator[str]:
    """Yield the clause about the gangs of which fewer than ``minCount`` members are left."""
    short = [group for group in groups if group.is_short]
    if len(short) == 1:
        left = counted(short[0].after, "pod") if short[0].after else "no pod"
        yield f"{short[0].title} is left with {left}, {short[0].min_count} are needed"
    elif short:
        names = listed([f"{group.namespace}/{group.name}" for group in short], most=3)
        yield f"{counted(len(short), 'gang')} are left with fewer pods than needed: {names}"
