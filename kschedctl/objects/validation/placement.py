"""Validation of a pod's scheduling constraints, and of label and node selectors."""

import re
from typing import Any, Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import label_problems, label_value_problems, qualified_name_problems, subdomain_problems
from kschedctl.objects.pod import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from kschedctl.objects.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN, parse_int64
from kschedctl.objects.validation.part import NOT_POSITIVE, Part, found_by
from kschedctl.objects.validation.values import Tree, ValidationContext, labels

# Validation of label selectors and node selectors.

_NO_OPERATOR: Final = "not a valid selector operator"
_NODE_NAME: Final = "metadata.name"


def label_selector(selector: Part) -> None:
    """Check a label selector; an absent one is valid."""
    labels(selector["matchLabels"])
    for requirement in selector["matchExpressions"]:
        _check_requirement(requirement)


def _check_requirement(requirement: Part, *, of_nodes: bool = False, any_value: bool = False) -> None:
    operator, values = requirement.at("operator", "").typed, requirement["values"]
    if operator.value in (IN, NOT_IN):
        values.require("must be specified when `operator` is 'In' or 'NotIn'")
    elif operator.value in (EXISTS, DOES_NOT_EXIST):
        if values:
            values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif not of_nodes or operator.value not in (GT, LT):
        operator.invalid(_NO_OPERATOR)
    elif len(values.value or ()) != 1:
        values.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
    requirement.at("key", "").check(qualified_name_problems)
    for value in () if any_value else values:
        value.check(label_value_problems)


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
    if found_by(label_selector, selector, ""):
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


def node_selector(selector: Part) -> None:
    """Check a node selector, which must have at least one term."""
    selector["nodeSelectorTerms"].require("must have at least one node selector term")
    for term in selector["nodeSelectorTerms"]:
        node_selector_term(term)


def node_selector_term(term: Part, *, any_value: bool = False) -> None:
    """Check a node selector term.

    Args:
        any_value: True if values that are not valid label values are accepted.
    """
    for requirement in term["matchExpressions"]:
        _check_requirement(requirement, of_nodes=True, any_value=any_value)
    for requirement in term["matchFields"]:
        operator, values, key = requirement.at("operator", ""), requirement["values"], requirement.at("key", "")
        if operator.value not in (IN, NOT_IN):
            operator.typed.invalid(_NO_OPERATOR)
        elif len(values.value or ()) != 1:
            values.required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
        if key.value != _NODE_NAME:
            key.invalid("not a valid field selector key")
        for value in values if key.value == _NODE_NAME else ():
            value.check(subdomain_problems)


_DO_NOT_SCHEDULE: Final = "DoNotSchedule"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHTS: Final = range(1, 101)
_DECIMAL: Final = re.compile(r"0|-?[1-9][0-9]*").fullmatch


def affinity(rules: Part, context: ValidationContext) -> None:
    """Check node affinity, pod affinity and pod anti-affinity."""
    of_nodes = rules["nodeAffinity"]
    if _REQUIRED in of_nodes:
        node_selector(of_nodes[_REQUIRED])
    for preferred in of_nodes[_PREFERRED]:
        _check_weight(preferred)
        # API servers do not validate the label values of preferred terms.
        node_selector_term(preferred["preference"], any_value=True)
    for of_pods in (rules["podAffinity"], rules["podAntiAffinity"]):
        for term in of_pods[_REQUIRED]:
            _check_pod_affinity_term(term, context)
        for weighted in of_pods[_PREFERRED]:
            _check_weight(weighted)
            _check_pod_affinity_term(weighted["podAffinityTerm"], context)


def _check_pod_affinity_term(term: Part, context: ValidationContext) -> None:
    label_selector(term["labelSelector"])
    label_selector(term["namespaceSelector"])
    for namespace in term.get("namespaces", ()):
        term.child("namespace", namespace).check(label_problems)
    _check_label_keys(term, context)
    key = term.at("topologyKey", "")
    key.require("can not be empty")
    key.check(qualified_name_problems)


def _check_weight(weighted: Part) -> None:
    weight = weighted.at("weight", 0)
    if weight.value not in _WEIGHTS:
        weight.invalid("must be in the range 1-100")


def _check_label_keys(holder: Part, context: ValidationContext) -> None:
    """Check ``matchLabelKeys`` and ``mismatchLabelKeys``; those of a Pod are merged first."""
    selector, keys, others = holder["labelSelector"], holder["matchLabelKeys"], holder["mismatchLabelKeys"]
    for those in (keys, others):
        if those and not selector.given:
            those.forbidden("must not be specified when labelSelector is not set")
        for key in those if selector.given else ():
            key.check(qualified_name_problems)
    if selector.given and keys:
        places = {key: i for i, key in enumerate(keys.value)}
        seen = set(selector.get("matchLabels", ()))
        own = [requirement.get("key") for requirement in selector["matchExpressions"]]
        merged = [key.value for those in (keys, others) for key in those if key.value in context.merged_labels]
        for key in (*own, *merged):
            if key in places and key in seen:
                holder.child(places[key], key).invalid("exists in both matchLabelKeys and labelSelector")
            seen.add(key)
    for key in keys:
        if key.value in (others.value or ()):
            key.invalid("exists in both matchLabelKeys and mismatchLabelKeys")


def tolerations(given: Part, context: ValidationContext, *, of_annotation: bool = False) -> None:
    """Check tolerations.

    Args:
        of_annotation: True for those of an annotation, of which no rules are declared.
    """
    for toleration in given:
        operator, value, effect = (toleration.at(name, "") for name in ("operator", "value", "effect"))
        if of_annotation or not context.rules.more_is_declared:
            toleration["key"].nonempty.check(qualified_name_problems)
        if not toleration["key"] and operator.value != EXISTS:
            problem = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            operator.typed.invalid(problem)
        if "tolerationSeconds" in toleration and effect.value != NO_EXECUTE:
            effect.typed.invalid("effect must be 'NoExecute' when `tolerationSeconds` is set")
        if operator.value in ("", "Equal"):
            if problems := label_value_problems(value.value):
                operator.invalid(";".join(problems), value.value)
        elif operator.value == EXISTS:
            if value:
                operator.invalid("value must be empty when `operator` is 'Exists'", value.value)
        elif operator.value not in ("Lt", "Gt") or not context.rules.tolerations_compare:
            operator.unsupported(("Equal", EXISTS))
        elif not context.on("TaintTolerationComparisonOperators"):
            operator.unsupported(("Equal", EXISTS, "Lt", "Gt"))
        else:
            _check_compared_number(value)
        effect.nonempty.one_of(NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)


def _check_compared_number(part: Part) -> None:
    if not part:
        part.invalid("must be non-empty")
    elif not _DECIMAL(part.value):
        part.invalid("must be a valid decimal integer in canonical form")
    if parse_int64(part.value) is None:
        why = "value out of range" if re.fullmatch(r"[+-]?[0-9]+", part.value, re.ASCII) else "invalid syntax"
        part.invalid(f"strconv.ParseInt: parsing {field_errors.go_quote(part.value)}: {why}")


def topology_spread(constraints: Part, context: ValidationContext) -> None:
    """Check topology spread constraints."""
    for i, constraint in enumerate(constraints):
        skew, action = constraint.at("maxSkew", 0), constraint.at("whenUnsatisfiable", "")
        if skew.value <= 0:
            skew.invalid(NOT_POSITIVE)
        constraint["topologyKey"].require("can not be empty")
        action.one_of(_DO_NOT_SCHEDULE, "ScheduleAnyway")
        pair = constraint.get("topologyKey"), action.value
        if any((o.get("topologyKey", ""), o.get("whenUnsatisfiable", "")) == pair for o in constraints.value[i + 1 :]):
            constraint.child("{topologyKey, whenUnsatisfiable}", f"{{{', '.join(pair)}}}").duplicate()
        domains = constraint["minDomains"]
        if domains.given and domains.value <= 0:
            domains.invalid(NOT_POSITIVE)
        if domains.given and action.value != _DO_NOT_SCHEDULE:
            domains.invalid(f"can only use minDomains if whenUnsatisfiable={_DO_NOT_SCHEDULE}, not {action.value}")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            constraint[name].one_of("Honor", "Ignore")
        if context.on("MatchLabelKeysInPodTopologySpreadSelectorMerge"):
            _check_label_keys(constraint, context)
        else:
            _check_unmerged_label_keys(constraint)
        label_selector(constraint["labelSelector"])


def _check_unmerged_label_keys(constraint: Part) -> None:
    """Check ``matchLabelKeys`` that are not merged into the selector."""
    keys, selector = constraint["matchLabelKeys"], constraint["labelSelector"]
    if keys and not selector.given:
        keys.forbidden("must not be specified when labelSelector is not set")
    own = {*selector.get("matchLabels", ()), *(each.get("key") for each in selector["matchExpressions"])}
    for key in keys:
        key.check(qualified_name_problems)
        if key.value in own:
            key.invalid("exists in both matchLabelKeys and labelSelector")


def scheduling_gates(gates: Part) -> None:
    """Check scheduling gates."""
    names = [gate.get("name") for gate in gates]
    for i, gate in enumerate(gates):
        gate.with_value(names[i]).check(qualified_name_problems)
        if names[i] in names[:i]:
            gate.duplicate(names[i])
