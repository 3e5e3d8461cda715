"""Validation of a pod's scheduling constraints, and of label and node selectors."""

import re
from collections.abc import Sequence
from typing import Any, Final

from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.names import label_problems, label_value_problems, subdomain_problems
from kschedctl.objects.pod import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from kschedctl.objects.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN, parse_int64
from kschedctl.objects.validation.values import (
    NOT_POSITIVE,
    Found,
    Tree,
    ValidationContext,
    invalid_findings,
    labels,
    one_of,
    qualified_name,
)

# Validation of label selectors and node selectors.

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

    Args:
        any_value: True if values that are not valid label values are accepted.
    """
    for i, requirement in enumerate(term.get("matchExpressions", ())):
        at = f"{path}.matchExpressions[{i}]"
        operator, values = requirement.get("operator", ""), requirement.get("values", ())
        if operator in (IN, NOT_IN):
            if not values:
                yield field_errors.required(f"{at}.values", _SOME)
        elif operator in (EXISTS, DOES_NOT_EXIST):
            if values:
                yield field_errors.forbidden(f"{at}.values", _NONE)
        elif operator in (GT, LT):
            if len(values) != 1:
                problem = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                yield field_errors.required(f"{at}.values", problem)
        else:
            yield field_errors.invalid(f"{at}.operator", Typed(operator), _NO_OPERATOR)
        yield from qualified_name(requirement.get("key", ""), f"{at}.key")
        if not any_value:
            for i, value in enumerate(values):
                yield from invalid_findings(label_value_problems(value), value, f"{at}.values[{i}]")
    for i, requirement in enumerate(term.get("matchFields", ())):
        yield from _field_requirement(requirement, f"{path}.matchFields[{i}]")


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


_DO_NOT_SCHEDULE: Final = "DoNotSchedule"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHTS: Final = range(1, 101)
_EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_DECIMAL: Final = re.compile(r"0|-?[1-9][0-9]*").fullmatch


def affinity(rules: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of node affinity, pod affinity and pod anti-affinity."""
    if "nodeAffinity" in rules:
        yield from _check_node_affinity(rules["nodeAffinity"], f"{path}.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        if name in rules:
            yield from _pod_affinity(rules[name], f"{path}.{name}", context)


def _check_node_affinity(rules: Tree, path: str) -> Found:
    if _REQUIRED in rules:
        yield from node_selector(rules[_REQUIRED], f"{path}.{_REQUIRED}")
    for i, preferred in enumerate(rules.get(_PREFERRED, ())):
        at = f"{path}.{_PREFERRED}[{i}]"
        yield from _weight(preferred, at)
        # API servers do not validate the label values of preferred terms.
        yield from node_selector_term(preferred.get("preference", {}), f"{at}.preference", any_value=True)


def _pod_affinity(rules: Tree, path: str, context: ValidationContext) -> Found:
    for i, term in enumerate(rules.get(_REQUIRED, ())):
        yield from _pod_affinity_term(term, f"{path}.{_REQUIRED}[{i}]", context)
    for i, weighted in enumerate(rules.get(_PREFERRED, ())):
        at = f"{path}.{_PREFERRED}[{i}]"
        yield from _weight(weighted, at)
        yield from _pod_affinity_term(weighted.get("podAffinityTerm", {}), f"{at}.podAffinityTerm", context)


def _pod_affinity_term(term: Tree, path: str, context: ValidationContext) -> Found:
    selector = term.get("labelSelector")
    yield from label_selector(selector, f"{path}.labelSelector")
    yield from label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces", ()):
        yield from invalid_findings(label_problems(namespace), namespace, f"{path}.namespace")
    yield from _label_keys(term, selector, path, context)
    key = term.get("topologyKey", "")
    if not key:
        yield field_errors.required(f"{path}.topologyKey", "can not be empty")
    yield from qualified_name(key, f"{path}.topologyKey")


def _weight(weighted: Tree, path: str) -> Found:
    weight = weighted.get("weight", 0)
    if weight not in _WEIGHTS:
        yield field_errors.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _label_keys(holder: Tree, selector: Tree | None, path: str, context: ValidationContext) -> Found:
    """Yield the problems of ``matchLabelKeys`` and ``mismatchLabelKeys``; those of a Pod are merged first."""
    keys = holder.get("matchLabelKeys", ())
    other_keys = holder.get("mismatchLabelKeys", ())
    for name, those in (("matchLabelKeys", keys), ("mismatchLabelKeys", other_keys)):
        if those and selector is None:
            yield field_errors.forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set")
        elif those:
            for i, key in enumerate(those):
                yield from qualified_name(key, f"{path}.{name}[{i}]")
    if selector is not None and keys:
        places = {key: i for i, key in enumerate(keys)}
        seen = set(selector.get("matchLabels", ()))
        own = [requirement.get("key", "") for requirement in selector.get("matchExpressions", ())]
        for key in (*own, *(key for key in (*keys, *other_keys) if key in context.merged_labels)):
            if key in places and key in seen:
                problem = "exists in both matchLabelKeys and labelSelector"
                yield field_errors.invalid(f"{path}[{places[key]}]", key, problem)
            seen.add(key)
    for i, key in enumerate(keys):
        if key in other_keys:
            problem = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield field_errors.invalid(f"{path}.matchLabelKeys[{i}]", key, problem)


def tolerations(given: Sequence[Tree], path: str, context: ValidationContext) -> Found:
    """Yield the problems of tolerations."""
    for i, toleration in enumerate(given):
        yield from _check_toleration(toleration, f"{path}[{i}]", context)


def _check_toleration(toleration: Tree, path: str, context: ValidationContext) -> Found:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        yield from qualified_name(key, f"{path}.key")
    elif operator != EXISTS:
        problem = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield field_errors.invalid(f"{path}.operator", Typed(operator), problem)
    if "tolerationSeconds" in toleration and effect != NO_EXECUTE:
        problem = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield field_errors.invalid(f"{path}.effect", Typed(effect), problem)
    if operator in ("", "Equal"):
        if problems := label_value_problems(value):
            yield field_errors.invalid(f"{path}.operator", value, ";".join(problems))
    elif operator == EXISTS:
        if value:
            problem = "value must be empty when `operator` is 'Exists'"
            yield field_errors.invalid(f"{path}.operator", value, problem)
    elif operator in ("Lt", "Gt") and context.rules.tolerations_compare:
        yield from _comparison(operator, value, path, context)
    else:
        yield field_errors.unsupported(f"{path}.operator", operator, ("Equal", EXISTS))
    if effect:
        yield from one_of(effect, _EFFECTS, f"{path}.effect")


def _comparison(operator: str, value: str, path: str, context: ValidationContext) -> Found:
    if not context.on("TaintTolerationComparisonOperators"):
        yield field_errors.unsupported(f"{path}.operator", operator, ("Equal", EXISTS, "Lt", "Gt"))
        return
    if not value:
        yield field_errors.invalid(f"{path}.value", value, "must be non-empty")
    elif not _DECIMAL(value):
        yield field_errors.invalid(f"{path}.value", value, "must be a valid decimal integer in canonical form")
    if parse_int64(value) is None:
        why = "value out of range" if re.fullmatch(r"[+-]?[0-9]+", value, re.ASCII) else "invalid syntax"
        problem = f"strconv.ParseInt: parsing {field_errors.go_quote(value)}: {why}"
        yield field_errors.invalid(f"{path}.value", value, problem)


def topology_spread(constraints: Sequence[Tree], path: str, context: ValidationContext) -> Found:
    """Yield the problems of topology spread constraints."""
    for i, constraint in enumerate(constraints):
        at = f"{path}[{i}]"
        skew, key = constraint.get("maxSkew", 0), constraint.get("topologyKey", "")
        action = constraint.get("whenUnsatisfiable", "")
        if skew <= 0:
            yield field_errors.invalid(f"{at}.maxSkew", skew, NOT_POSITIVE)
        if not key:
            yield field_errors.required(f"{at}.topologyKey", "can not be empty")
        yield from one_of(action, (_DO_NOT_SCHEDULE, "ScheduleAnyway"), f"{at}.whenUnsatisfiable")
        others = constraints[i + 1 :]
        if any((o.get("topologyKey", ""), o.get("whenUnsatisfiable", "")) == (key, action) for o in others):
            yield field_errors.duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        if (domains := constraint.get("minDomains")) is not None:
            place = f"{at}.minDomains"
            if domains <= 0:
                yield field_errors.invalid(place, domains, NOT_POSITIVE)
            if action != _DO_NOT_SCHEDULE:
                problem = f"can only use minDomains if whenUnsatisfiable={_DO_NOT_SCHEDULE}, not {action}"
                yield field_errors.invalid(place, domains, problem)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if name in constraint:
                yield from one_of(constraint[name], ("Honor", "Ignore"), f"{at}.{name}")
        selector = constraint.get("labelSelector")
        if context.on("MatchLabelKeysInPodTopologySpreadSelectorMerge"):
            yield from _label_keys(constraint, selector, at, context)
        else:
            yield from _unmerged_label_keys(constraint, selector, f"{at}.matchLabelKeys")
        yield from label_selector(selector, f"{at}.labelSelector")


def _unmerged_label_keys(constraint: Tree, selector: Tree | None, path: str) -> Found:
    """Yield the problems of ``matchLabelKeys`` that are not merged into the selector."""
    keys = constraint.get("matchLabelKeys", ())
    own: set[str] = set()
    if selector is not None:
        own |= set(selector.get("matchLabels", ()))
        own |= {requirement.get("key", "") for requirement in selector.get("matchExpressions", ())}
    elif keys:
        yield field_errors.forbidden(path, "must not be specified when labelSelector is not set")
    for i, key in enumerate(keys):
        yield from qualified_name(key, f"{path}[{i}]")
        if key in own:
            yield field_errors.invalid(f"{path}[{i}]", key, "exists in both matchLabelKeys and labelSelector")


def scheduling_gates(gates: Sequence[Tree], path: str) -> Found:
    """Yield the problems of scheduling gates."""
    seen: set[str] = set()
    for i, gate in enumerate(gates):
        name = gate.get("name", "")
        yield from qualified_name(name, f"{path}[{i}]")
        if name in seen:
            yield field_errors.duplicate(f"{path}[{i}]", name)
        seen.add(name)
