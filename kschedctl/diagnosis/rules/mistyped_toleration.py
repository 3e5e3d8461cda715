"""A toleration that misses a taint by a typing mistake in its key or value, or by its effect.

The pod tolerates a taint that the node does not have, and the node's taint is almost the same. Operators correct the
toleration. A different value, such as the name of another team, is no mistake: the node is then reserved for others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed, meant
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.core import Taint
from kschedctl.objects.pod import CONTROL_PLANE_TAINTS, NO_EXECUTE, NO_SCHEDULE, UNSAFE_TAINTS, Toleration, tolerates
from kschedctl.scheduler.framework.remedy import Operation, Remedy, Risk, add_operation, remove_operation
from kschedctl.scheduler.plugins.taint_toleration import untolerated_taint

_PLUGIN: Final = "TaintToleration"
#: Values of taints that only say yes.
_YES: Final = frozenset(("", "true", "yes", "on", "1"))


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield a toleration that was probably meant for the taint of nodes that lack nothing else."""
    tolerations = situation.pod.spec.tolerations
    if not situation.filtered or not tolerations:
        return
    others = [plugin for plugin in situation.rejected if plugin != _PLUGIN]
    nodes = situation.in_reach & situation.rejected_by(_PLUGIN) & ~situation.rejected_by(*others)
    if not nodes.any():
        return
    table = situation.cluster.nodes
    for number in np.unique(table.taint_list[nodes]).tolist():
        taints = table.taint_lists[number]
        taint = untolerated_taint(taints, tolerations)
        if taint is None:
            continue
        for i, toleration in enumerate(tolerations):
            if taint.key.startswith(UNSAFE_TAINTS) and not _is_renamed(toleration, taint):
                continue
            if _is_renamed(toleration, taint) or _is_near(toleration, taint):
                same = nodes & (table.taint_list == number)
                yield _diagnosis(situation, i, taint, taints, same)
                return


def _is_renamed(toleration: Toleration, taint: Taint) -> bool:
    """Report whether a toleration has the key of the control plane's taint before Kubernetes 1.24."""
    both = toleration.key != taint.key and {toleration.key, taint.key} == set(CONTROL_PLANE_TAINTS)
    return both and tolerates(msgspec.structs.replace(toleration, key=taint.key), taint)


def _is_near(toleration: Toleration, taint: Taint) -> bool:
    """Report whether a toleration differs from a taint in one respect, which is probably a mistake."""
    if not toleration.key:
        return False
    same_key = toleration.key == taint.key
    equal = toleration.operator != "Exists"
    same_value = not equal or toleration.value == taint.value
    same_effect = toleration.effect in ("", taint.effect)
    if same_key and same_value:
        return not same_effect
    if same_key and same_effect and not toleration.value:
        # Without a value, the operator Equal tolerates only a taint without one.
        return True
    if same_key and same_effect:
        return bool(meant(toleration.value, [taint.value])) or _both_yes(toleration, taint)
    return same_value and same_effect and bool(meant(toleration.key, [taint.key]))


def _both_yes(toleration: Toleration, taint: Taint) -> bool:
    return {toleration.value.lower(), taint.value.lower()} <= _YES


def _diagnosis(situation: Situation, i: int, taint: Taint, taints: tuple[Taint, ...], nodes: Mask) -> Diagnosis:
    toleration = situation.pod.spec.tolerations[i]
    names = situation.names(nodes)
    of = listed(names) if len(names) <= 3 else counted(len(names), "node")
    rest = situation.in_reach & ~nodes
    cause = f"the pod tolerates {_words(toleration)}, and the taint of {of} is {taint}"
    return Diagnosis(
        rule="mistyped-toleration",
        cause=together(situation, cause, obstacles_on(situation, rest)),
        remedies=(_corrected(situation, i, taint, taints),),
    )


def _words(toleration: Toleration) -> str:
    value = f"={toleration.value}" if toleration.operator != "Exists" and toleration.value else ""
    effect = f":{toleration.effect}" if toleration.effect else ""
    return f"{toleration.key}{value}{effect}"


def _corrected(situation: Situation, i: int, taint: Taint, taints: tuple[Taint, ...]) -> Remedy:
    """Return the correction. A toleration that matches another taint of the node loses its effect."""
    toleration, at = situation.pod.spec.tolerations[i], ("spec", "tolerations", i)
    hard = [each for each in taints if each.effect in (NO_SCHEDULE, NO_EXECUTE)]
    patch: list[Operation] = []
    if any(tolerates(toleration, each) for each in hard):
        patch.append(remove_operation(*at, "effect"))
        summary = f"tolerate every effect of {taint.key}, not only {toleration.effect}"
    else:
        patch.append(add_operation(taint.key, *at, "key"))
        if toleration.operator != "Exists":
            patch.append(add_operation(taint.value, *at, "value"))
        if toleration.effect:
            patch.append(add_operation(taint.effect, *at, "effect"))
        summary = f"tolerate {taint} instead of {_words(toleration)}"
    return situation.context().pod_patch(summary, *patch, risk=Risk.MISTAKE, family=("toleration", i))
