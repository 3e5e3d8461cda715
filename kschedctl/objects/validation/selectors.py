"""Validation of label selectors and node selectors."""

from __future__ import annotations

from typing import Any, Final

from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.names import label_value_problems, subdomain_problems
from kschedctl.objects.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN
from kschedctl.objects.validation.context import Found, Tree
from kschedctl.objects.validation.values import invalid_findings, labels, qualified_name

_NO_OPERATOR: Final = "not a valid selector operator"
_SOME: Final = "must be specified when `operator` is 'In' or 'NotIn'"
_NONE: Final = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_NODE_NAME: Final = "metadata.name"


def label_selector(selector: Tree | None, path: str) -> Found:
    """Yield the problems of a label selector; ``None`` is valid."""
    if selector is None:
        return
    if "matchLabels" in selector:
        yield from labels(selector["matchLabels"], f"{path}.matchLabels")
    for i, requirement in enumerate(selector.get("matchExpressions", ())):
        at = f"{path}.matchExpressions[{i}]"
        operator, values = requirement.get("operator", ""), requirement.get("values", ())
        if operator in (IN, NOT_IN):
            if not values:
                yield field_errors.required(f"{at}.values", _SOME)
        elif operator in (EXISTS, DOES_NOT_EXIST):
            if values:
                yield field_errors.forbidden(f"{at}.values", _NONE)
        else:
            yield field_errors.invalid(f"{at}.operator", Typed(operator), _NO_OPERATOR)
        yield from qualified_name(requirement.get("key", ""), f"{at}.key")
        for n, value in enumerate(values):
            yield from invalid_findings(label_value_problems(value), value, f"{at}.values[{n}]")


def is_empty(selector: Tree) -> bool:
    """Report whether a selector is empty, so that it selects everything."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def selector_in_message(selector: Tree | None) -> Any:
    """Return a selector as messages print it."""
    if selector is None:
        return None
    out: dict[str, Any] = {}
    if selector.get("matchLabels"):
        out["matchLabels"] = dict(sorted(selector["matchLabels"].items()))
    if selector.get("matchExpressions"):
        out["matchExpressions"] = [
            {"key": r.get("key", ""), "operator": r.get("operator", "")}
            | ({"values": r["values"]} if r.get("values") else {})
            for r in selector["matchExpressions"]
        ]
    return out


def selects(selector: Tree | None, own: dict[str, str]) -> bool | None:
    """Report whether a selector matches labels; ``None`` if the selector is invalid (LabelSelectorAsSelector)."""
    if selector is None:
        return False
    if any(True for _ in label_selector(selector, "")):
        return None
    if any(own.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(_holds(requirement, own) for requirement in selector.get("matchExpressions", ()))


def _holds(requirement: Tree, own: dict[str, str]) -> bool:
    value, values = own.get(requirement["key"]), requirement.get("values", ())
    match requirement["operator"]:
        case "In":
            return value is not None and value in tuple(values)
        case "NotIn":
            return value is None or value not in tuple(values)
        case operator:
            return bool((value is not None) == (operator == EXISTS))


def node_selector(selector: Tree, path: str) -> Found:
    """Yield the problems of a node selector, which must have at least one term."""
    terms = selector.get("nodeSelectorTerms", ())
    if not terms:
        yield field_errors.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for i, term in enumerate(terms):
        yield from node_selector_term(term, f"{path}.nodeSelectorTerms[{i}]")


def node_selector_term(term: Tree, path: str, *, any_value: bool = False) -> Found:
    """Yield the problems of a node selector term.

    Parameters
    ----------
    any_value : bool
        True if values that are not valid label values are accepted.
    """
    for i, requirement in enumerate(term.get("matchExpressions", ())):
        yield from _node_requirement(requirement, f"{path}.matchExpressions[{i}]", any_value)
    for i, requirement in enumerate(term.get("matchFields", ())):
        yield from _field_requirement(requirement, f"{path}.matchFields[{i}]")


def _node_requirement(requirement: Tree, path: str, any_value: bool) -> Found:
    operator, values = requirement.get("operator", ""), requirement.get("values", ())
    if operator in (IN, NOT_IN):
        if not values:
            yield field_errors.required(f"{path}.values", _SOME)
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            yield field_errors.forbidden(f"{path}.values", _NONE)
    elif operator in (GT, LT):
        if len(values) != 1:
            problem = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield field_errors.required(f"{path}.values", problem)
    else:
        yield field_errors.invalid(f"{path}.operator", Typed(operator), _NO_OPERATOR)
    yield from qualified_name(requirement.get("key", ""), f"{path}.key")
    if not any_value:
        for i, value in enumerate(values):
            yield from invalid_findings(label_value_problems(value), value, f"{path}.values[{i}]")


def _field_requirement(requirement: Tree, path: str) -> Found:
    operator, values = requirement.get("operator", ""), requirement.get("values", ())
    if operator not in (IN, NOT_IN):
        yield field_errors.invalid(f"{path}.operator", Typed(operator), _NO_OPERATOR)
    elif len(values) != 1:
        problem = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield field_errors.required(f"{path}.values", problem)
    key = requirement.get("key", "")
    if key != _NODE_NAME:
        yield field_errors.invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for i, value in enumerate(values):
        yield from invalid_findings(subdomain_problems(value), value, f"{path}.values[{i}]")
