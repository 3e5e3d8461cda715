"""The narrowing of a case to the part that our answer depends on, while it differs from kube-scheduler's as before.

The real scheduler's answer for a smaller cluster is not known, so our answer alone must not decide what is left out. If
kube-scheduler gave a reason that we do not, the cause may be an object or field that we wrongly ignore; leaving it out
would change nothing for us. Then only whole objects out of the reason's reach are left out, and no fields. If only we
give a reason, we inspect everything that leads to it, and fields are left out as well.

Narrowing ends after a fixed amount of work; objects that were not tried by then stay. In both cases every node that
stays gets exactly the same reasons as before, with the same numbers and names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Final

import msgspec

from kschedctl.common.errors import KschedctlError
from kschedctl.objects.releases.release import Release
from kschedctl.questions.analyses.batch.cases import Case, decide
from kschedctl.questions.analyses.verify.disagreement import Disagreement, Theirs, disagreement, overcounted
from kschedctl.questions.analyses.verify.shrinking import Object, fewest, smallest_case
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.framework.registry import Registry

#: The number of objects read again after which nothing more is left out; this takes about a minute.
_MOST_WORK: Final = 1_500_000
#: The number that each tried case counts besides its objects.
_PER_CASE: Final = 50
#: Words of reasons that depend on pods anywhere, on claims and volumes, and on preemption.
_ANYWHERE: Final = ("affinity rules", "topology spread", "ReadWriteOncePod")
_STORAGE: Final = ("volume", "disk", "claim", "storage", "PVC", "pvc")
_PREEMPTION: Final = ("preempt", "Preempt")
#: The reasons for each node: plugin, text, and the numbers and names behind them.
Facts = dict[str, tuple[tuple[str, str, str], ...]]


class Narrowing:
    """The narrowing of one case, which has ``theirs``.

    An object that is no valid case raises an InputError.

    Attributes
    ----------
    disagreement : Disagreement or None
        The difference between the answers; ``None`` if there is none.
    """

    def __init__(self, case: Object, release: Release, registry: Registry) -> None:
        self._release, self._registry = release, registry
        self._theirs = msgspec.convert(case["theirs"], Theirs)
        self.case = case
        decision = self._decide(case)
        self.disagreement: Disagreement | None = disagreement(self._theirs, decision)
        self._facts = _facts(decision)
        self._not_modelled = {str(notice) for notice in decision.not_modelled}
        self._overcounted = overcounted(self._theirs, decision)
        self._tried: dict[bytes, bool] = {}
        self._work = 0

    def smallest(self) -> Object:
        """Return the case without the objects and fields that the answer does not depend on."""
        found = self.disagreement
        assert found is not None
        case = self._with_fewest_nodes(self.case, found)
        kept = self._out_of_reach_only(case, found)
        others = [obj for obj in case["objects"] if not kept(obj)]

        def with_some(chosen: list[Object]) -> Object:
            identities = set(map(id, chosen))
            return {**case, "objects": [obj for obj in case["objects"] if kept(obj) or id(obj) in identities]}

        case = with_some(fewest(others, lambda chosen: self.keeps(with_some(chosen))))
        if found.only_theirs:
            without = {name: value for name, value in case.items() if name != "config"}
            return without if self.keeps(without) else case
        return smallest_case(case, self.keeps)

    def keeps(self, case: Object) -> bool:
        """Report whether a smaller case still shows the difference."""
        key = sha256(json.dumps(case).encode()).digest()
        if key not in self._tried:
            self._work += len(case["objects"]) + _PER_CASE
            self._tried[key] = self._work <= _MOST_WORK and self._shows(case)
        return self._tried[key]

    def _shows(self, case: Object) -> bool:
        try:
            decision = self._decide(case)
        except (KschedctlError, msgspec.ValidationError):
            return False
        return (
            disagreement(self._theirs, decision) == self.disagreement
            and {str(notice) for notice in decision.not_modelled} == self._not_modelled
            and all(self._facts.get(node) == said for node, said in _facts(decision).items())
        )

    def _decide(self, case: Object) -> Decision:
        return decide(msgspec.convert(case, Case), self._release, self._registry)

    def _with_fewest_nodes(self, case: Object, found: Disagreement) -> Object:
        """Return the case with the fewest nodes, each with all its pods."""
        # If only the numbers of nodes differ, every node matters.
        if found.ours or _mentions(found.only_theirs, _ANYWHERE):
            return case
        nodes = [obj["metadata"]["name"] for obj in case["objects"] if obj["kind"] == "Node"]
        suspects = self._suspects(found)
        free = [node for node in nodes if node not in suspects]

        def only(chosen: Iterable[str]) -> Object:
            gone = {*nodes} - {*chosen} - suspects
            return {**case, "objects": [obj for obj in case["objects"] if _place(obj) not in gone]}

        return only(fewest(free, lambda chosen: self.keeps(only(chosen))))

    def _suspects(self, found: Disagreement) -> set[str]:
        """Return the nodes that stay because any one of them may be the cause of the difference."""
        if not found.only_theirs or found.only_ours or found.outcome is not Outcome.UNSCHEDULABLE:
            return set()
        named = {node for node, said in self._facts.items() if any(text in self._overcounted for _, text, _ in said)}
        return named or {*self._facts}

    def _out_of_reach_only(self, case: Object, found: Disagreement) -> Callable[[Object], bool]:
        """Return the test for objects that always stay."""
        reasons = found.only_theirs
        if not reasons:
            return lambda obj: False
        anywhere, storage = _mentions(reasons, _ANYWHERE), _mentions(reasons, _STORAGE)
        kinds = {"Namespace"} if anywhere else set()
        if _mentions(reasons, _PREEMPTION):
            kinds.add("PodDisruptionBudget")
        nodes = {obj["metadata"]["name"] for obj in case["objects"] if obj["kind"] == "Node"}
        namespace = case["pod"].get("metadata", {}).get("namespace", "")
        names_others = "namespace" in json.dumps(case["pod"].get("spec", {}).get("affinity", {}))

        def kept(obj: Object) -> bool:
            if obj["kind"] == "Node":
                return True
            if obj["kind"] != "Pod":
                return storage or obj["kind"] in kinds
            if not anywhere:
                return _place(obj) in nodes
            near = obj["metadata"].get("namespace", "") == namespace or names_others
            return near or "affinity" in obj.get("spec", {}) or _place(obj) == ""

        return kept


def _mentions(reasons: Iterable[str], words: tuple[str, ...]) -> bool:
    return any(word in reason for reason in reasons for word in words)


def _place(obj: Object) -> str:
    """Return the node that an object belongs to; empty for none."""
    if obj["kind"] in ("Node", "CSINode"):
        return str(obj["metadata"]["name"])
    return str(obj.get("spec", {}).get("nodeName", "")) if obj["kind"] == "Pod" else ""


def _facts(decision: Decision) -> Facts:
    if decision.statuses is None:
        return {}
    facts: Facts = {}
    for row, name in enumerate(decision.cluster.nodes.names):
        said = decision.verdict(row).reasons
        facts[name] = tuple((plugin, reason.text, reason.detail) for plugin, reasons in said for reason in reasons)
    return facts
