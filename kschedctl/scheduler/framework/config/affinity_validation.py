"""Validation rules for a NodeAffinity in plugin args (component-helpers ``nodeaffinity``, apimachinery ``labels``)."""

from __future__ import annotations

from kschedctl.objects.names import label_value_problems, qualified_name_problems
from kschedctl.objects.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LT,
    NOT_IN,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    parse_int64,
)
from kschedctl.scheduler.framework.config.problems import Problems, child


def validate_node_affinity(affinity: NodeAffinity, path: str, problems: Problems) -> None:
    """Record the problems of all terms, except preferred terms with weight 0, which are not validated."""
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        terms_path = f"{child(path, 'requiredDuringSchedulingIgnoredDuringExecution')}.nodeSelectorTerms"
        for i, term in enumerate(required.node_selector_terms):
            _term(term, f"{terms_path}[{i}]", problems)
    for i, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        if preferred.weight:
            preferred_path = f"{child(path, 'preferredDuringSchedulingIgnoredDuringExecution')}[{i}]"
            _term(preferred.preference, preferred_path, problems)


def _term(term: NodeSelectorTerm, path: str, problems: Problems) -> None:
    for i, requirement in enumerate(term.match_expressions):
        _expression(requirement, f"{path}.matchExpressions[{i}]", problems)
    for i, requirement in enumerate(term.match_fields):
        field_path = f"{path}.matchFields[{i}]"
        if requirement.operator not in (IN, NOT_IN):
            problems.unsupported(f"{field_path}.operator", requirement.operator, (IN, NOT_IN))
        elif len(requirement.values) != 1:
            problems.invalid(f"{field_path}.values", requirement.values or None, "must have one element")


def _expression(requirement: NodeSelectorRequirement, path: str, problems: Problems) -> None:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    operators = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)
    if operator not in operators:
        problems.unsupported(f"{path}.operator", operator, operators)
        return
    key_problems = qualified_name_problems(key)
    if key_problems:
        problems.invalid(f"{path}.key", key, "; ".join(key_problems))
    _values(requirement, f"{path}.values", problems)
    for i, value in enumerate(values):
        value_problems = label_value_problems(value)
        if value_problems:
            problems.invalid(f"{path}.values[{i}][{key}]", value, "; ".join(value_problems))


def _values(requirement: NodeSelectorRequirement, path: str, problems: Problems) -> None:
    """Record values that do not suit the operator."""
    operator, values = requirement.operator, requirement.values
    if operator in (IN, NOT_IN) and not values:
        problems.invalid(path, None, "for 'in', 'notin' operators, values set can't be empty")
    if operator in (EXISTS, DOES_NOT_EXIST) and values:
        problems.invalid(path, values, "values set must be empty for exists and does not exist")
    if operator in (GT, LT):
        if len(values) != 1:
            problems.invalid(path, values or None, "for 'Gt', 'Lt' operators, exactly one value is required")
        for i, value in enumerate(values):
            if parse_int64(value) is None:
                problems.invalid(f"{path}[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
