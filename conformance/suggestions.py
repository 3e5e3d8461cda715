"""The check of suggestions: the reference scheduler decides about a pod after a suggestion's changes are applied."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import jsonpatch
import msgspec

from conformance.asking import Side
from conformance.jsonlines import Object
from kschedctl.common.errors import KschedctlError
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.releases.release import RELEASES
from kschedctl.questions.batch.cases import Case, decide
from kschedctl.questions.explain.analysis import suggestion_data
from kschedctl.questions.explain.answer import SuggestionData
from kschedctl.scheduler.plugins.registry import in_tree_registry


@dataclass(frozen=True, slots=True)
class Told:
    """A suggestion for the pod of a case, and the reference scheduler's answer.

    Attributes
    ----------
    case : dict
        The case with the changes applied.
    suggestion : SuggestionData
        The suggestion.
    answer : dict
        The reference scheduler's answer to the changed case.
    """

    case: Object
    suggestion: SuggestionData
    answer: Object

    @property
    def is_true(self) -> bool:
        """True if the pod finds a feasible node, or a nominated node if the suggestion evicts pods by preemption."""
        if self.answer.get("best"):
            return True
        deletes = any("delete" in change for change in self.suggestion.changes)
        preemption = self.answer.get("preemption") or {}
        return bool(self.suggestion.evicts and not deletes and preemption.get("nominated"))


def suggestions(case: Object, release: str, most: int) -> tuple[SuggestionData, ...] | None:
    """Return kschedctl's suggestions for the pod of a case; None if the pod fits or the release rejects the case."""
    try:
        decision = decide(msgspec.convert(case, Case), RELEASES[release], in_tree_registry())
    except (KschedctlError, msgspec.ValidationError):
        return None
    if decision.schedulable:
        return None
    found = suggest(decision, most).suggestions
    return tuple(suggestion_data(way) for one in found for way in (one, *one.others))


def told(case: Object, release: str, most: int, judge: Side) -> Iterator[Told]:
    """Yield kschedctl's suggestions for the pod of a case, each with the reference scheduler's answer."""
    for number, suggestion in enumerate(suggestions(case, release, most) or (), 1):
        changed = apply_changes(case, suggestion)
        changed["id"] = f"{case['id']}-{number}"
        answer = judge(changed)
        # Without an answer the suggestion can be neither confirmed nor refuted.
        if "unknown" not in answer and "contradiction" not in str(answer.get("error", "")):
            yield Told(changed, suggestion, answer)


def apply_changes(case: Object, suggestion: SuggestionData) -> Object:
    """Return a case with a suggestion's changes applied to its objects, as ``kubectl`` would apply them."""
    case = copy.deepcopy(case)
    pod, objects = case["pod"], case["objects"]
    for change in suggestion.changes:
        if "create" in change:
            objects.append(copy.deepcopy(change["create"]))
        elif "delete" in change:
            objects.remove(_found(objects, change["delete"]))
        else:
            target = pod if _key(change) == _key({**pod, "kind": "Pod", **_named(pod)}) else _found(objects, change)
            # Data that was never serialized may contain tuples in place of lists.
            operations = msgspec.json.decode(msgspec.json.encode(change["patch"]))
            jsonpatch.apply_patch(target, operations, in_place=True)
    return case


def _found(objects: list[Object], key: Object) -> Object:
    return next(obj for obj in objects if _key({**obj, **_named(obj)}) == _key(key))


def _named(obj: Object) -> Object:
    metadata = obj.get("metadata", {})
    return {"name": metadata.get("name", ""), "namespace": metadata.get("namespace", "")}


def _key(obj: Object) -> tuple[str, str, str]:
    return obj["kind"], obj.get("namespace", ""), obj["name"]
