"""A case cut down to what bears on our answer for its pod, while the answer differs from kube-scheduler's as it did.

Only we can be asked: what kube-scheduler says of a smaller cluster is not known. So it must not go by our answer alone
what is left out. Where kube-scheduler gave a reason that we do not, the cause may be an object or field that we wrongly
pass over; leaving it out would change nothing for us. Then whole objects are left out that lie out of the reason's
reach, and no fields. Where only we give a reason, we look at everything that leads to it, and fields go as well.

Cutting down ends after a fixed amount of work: what was not tried by then stays.

In both ways every node that stays is said exactly the same of as before, with the same numbers and names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Final

import msgspec

from kschedctl.errors import KschedctlError
from kschedctl.framework.registry import Registry
from kschedctl.releases.release import Release
from kschedctl.scheduler.cases import Case, decide
from kschedctl.scheduler.decision import Decision, Outcome
from kschedctl.scheduler.disagreement import Disagreement, Theirs, disagreement, overcounted
from kschedctl.scheduler.shrinking import Object, fewest, smallest_case

#: After how many objects read again no more is left out (a minute or so), and how many a case counts for at least.
_MOST_WORK: Final = 1_500_000
_PER_CASE: Final = 50
#: Reasons for which pods anywhere count, and those for which claims and volumes do.
_ANYWHERE: Final = ("affinity rules", "topology spread", "ReadWriteOncePod")
_STORAGE: Final = ("volume", "disk", "claim", "storage", "PVC", "pvc")
_PREEMPTION: Final = ("preempt", "Preempt")
#: What is said of a node: per plugin its reasons, with the numbers and names behind them.
Facts = dict[str, tuple[tuple[str, str, str], ...]]


class Narrowing:
    """Cuts one case down.

    Parameters
    ----------
    case : object
        The case, with ``theirs``.
    release : Release
        Whose rules our answer goes by.
    registry : Registry
        The plugins.

    Raises
    ------
    InputError
        Where it is no case.
    """

    def __init__(self, case: Object, release: Release, registry: Registry) -> None:
        self._release, self._registry = release, registry
        self._theirs = msgspec.convert(case["theirs"], Theirs)
        self.case = case
        decision = self._decide(case)
        #: In which way the answers differ; ``None`` where they do not.
        self.disagreement: Disagreement | None = disagreement(self._theirs, decision)
        self._facts = _facts(decision)
        self._not_modelled = {str(notice) for notice in decision.not_modelled}
        self._overcounted = overcounted(self._theirs, decision)
        self._tried: dict[bytes, bool] = {}
        self._work = 0

    def smallest(self) -> Object:
        """The case without what does not bear on the answer."""
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
        """Whether a smaller case still shows the difference."""
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
        """The case with the fewest nodes, each with all that is on it."""
        # Where the numbers of nodes differ, each of them counts.
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
        """The nodes of which one alone may show the difference, where nothing tells which: they all stay."""
        if not found.only_theirs or found.only_ours or found.outcome is not Outcome.UNSCHEDULABLE:
            return set()
        named = {node for node, said in self._facts.items() if any(text in self._overcounted for _, text, _ in said)}
        return named or {*self._facts}

    def _out_of_reach_only(self, case: Object, found: Disagreement) -> Callable[[Object], bool]:
        """Which objects are not tried to be left out."""
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
    """The node that an object belongs to; empty where it belongs to none."""
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
