"""A hard spread constraint whose labelSelector does not match the pod itself.

The constraint then keeps the pod away from domains because of the pods of others, and the pods of the workload are not
spread at all. It is usually copied from another workload, or a label was renamed. Operators correct the selector. They
do not delete the pods that it counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.rules.blocked_domain import hard_constraints, refused_by_spread
from kschedctl.diagnosis.situation import Situation
from kschedctl.scheduler.framework.remedy import Remedy, Risk, replace_operation

_CONSTRAINTS: Final = ("spec", "topologySpreadConstraints")


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the constraints that count pods with other labels than those of the pod."""
    if not situation.filtered or not refused_by_spread(situation).any():
        return
    for index, counts in hard_constraints(situation):
        selector = situation.pod.spec.topology_spread_constraints[index].label_selector if index >= 0 else None
        # A constraint without a labelSelector, or with an empty one, counts no pods.
        if selector is None or counts.self_match or not counts.counts.any():
            continue
        labels = situation.pod.metadata.labels
        other = {key: value for key, value in selector.match_labels.items() if labels.get(key) != value}
        own = {key: labels[key] for key in other if key in labels}
        key = counts.constraint.topology_key
        has = f"has {_text(own)}" if own else f"does not have {'them' if len(other) > 1 else 'it'}"
        what = f"with {_text(other)}, and the pod itself {has}" if other else "that its selector selects, not the pod"
        corrected = len(own) == len(other) > 0
        yield Diagnosis(
            rule="foreign-spread",
            cause=f"the spread over {key} counts pods {what}",
            remedies=tuple(_corrections(situation, index, key, other, own)) if corrected else (),
            advice=() if corrected else (_advice(key),),
        )


def _corrections(
    situation: Situation, index: int, key: str, other: dict[str, str], own: dict[str, str]
) -> Iterator[Remedy]:
    at = (*_CONSTRAINTS, index, "labelSelector", "matchLabels")
    yield situation.context().pod_patch(
        f"{_text(own)} instead of {_text(other)} in the labelSelector of the spread constraint over {key}",
        *(replace_operation(value, *at, name) for name, value in own.items()),
        risk=Risk.MISTAKE,
        family=("foreign spread", index),
    )


def _advice(key: str) -> Advice:
    return Advice(
        summary=f"correct the labelSelector of the spread constraint over {key}, or the labels of the pod: they must "
        "match",
        risk=Risk.MISTAKE,
        untried="the snapshot does not show which of them is meant",
    )


def _text(labels: dict[str, str]) -> str:
    return listed([f"{key}={value}" for key, value in labels.items()])
