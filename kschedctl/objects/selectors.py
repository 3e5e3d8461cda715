"""Label selectors and node selectors, parsed into requirements (apimachinery ``labels.Requirement``).

A parsed ``Selector`` is a tuple of requirements that must all hold. It is matched with ``matches`` for one label map,
or with ``kschedctl.cluster.labels.LabelColumns.matches`` for many at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.names import label_value_problems, qualified_name_problems
from kschedctl.objects.node_selector import NodeSelectorRequirement, NodeSelectorTerm

_INT64_DIGITS: Final = 19
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
DOES_NOT_EXIST: Final = "DoesNotExist"
GT: Final = "Gt"
LT: Final = "Lt"
_LABEL_OPERATORS: Final = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)
_NODE_OPERATORS: Final = (*_LABEL_OPERATORS, GT, LT)


class SelectorError(ValueError):
    """A selector that Kubernetes rejects.

    Parameters
    ----------
    problem : str
        The error message.
    path : str
        The path of the field, relative to the selector.
    """

    def __init__(self, problem: str, path: str) -> None:
        super().__init__(problem)
        self.path = path


class Requirement(msgspec.Struct, frozen=True):
    """A label key, an operator and the values it is compared with."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, value: str | None) -> bool:
        """Report whether the requirement holds for a label's value; ``None`` means that the label is absent."""
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                number = parse_int64(value) if value is not None else None
                bound = parse_int64(self.values[0])
                if number is None or bound is None:
                    return False
                return number > bound if self.operator == GT else number < bound

    def __str__(self) -> str:
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case "In" if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case _:
                signs = {IN: "in", NOT_IN: "notin", GT: ">", LT: "<"}
                values = self.values[0] if self.operator in (GT, LT) else f"({','.join(self.values)})"
                return f"{self.key} {signs[self.operator]} {values}"


Selector = tuple[Requirement, ...]


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Report whether all requirements hold for a label map; an empty selector matches everything."""
    return all(requirement.holds(labels.get(requirement.key)) for requirement in selector)


def label_map_selector(labels: Mapping[str, str]) -> Selector:
    """Return the selector for a plain map, such as a pod's ``nodeSelector``; its values are not validated."""
    return tuple(Requirement(key, IN, (value,)) for key, value in sorted(labels.items()))


def parse_label_selector(selector: LabelSelector) -> Selector:
    """Parse a LabelSelector.

    Raises
    ------
    SelectorError
        If metav1.LabelSelectorAsSelector would reject the selector.
    """
    out = []
    for key, value in selector.match_labels.items():
        out.append(_requirement(key, IN, (value,), _LABEL_OPERATORS, f"matchLabels.{key}"))
    for i, expression in enumerate(selector.match_expressions):
        path = f"matchExpressions[{i}]"
        out.append(_requirement(expression.key, expression.operator, expression.values, _LABEL_OPERATORS, path))
    return tuple(out)


class NodeTerm(msgspec.Struct, frozen=True):
    """A parsed NodeSelectorTerm: requirements on a node's labels, and on its name (``metadata.name``)."""

    labels: Selector
    fields: Selector


def parse_node_term(term: NodeSelectorTerm) -> NodeTerm | None:
    """Parse a term of a node selector; return ``None`` for an empty term, which matches no node.

    Raises
    ------
    SelectorError
        If component-helpers ``nodeaffinity`` would reject the term.
    """
    if not term.match_expressions and not term.match_fields:
        return None
    labels = []
    for i, expression in enumerate(term.match_expressions):
        path = f"matchExpressions[{i}]"
        labels.append(_requirement(expression.key, expression.operator, expression.values, _NODE_OPERATORS, path))
    fields = [_field_requirement(field, f"matchFields[{i}]") for i, field in enumerate(term.match_fields)]
    return NodeTerm(tuple(labels), tuple(fields))


def _field_requirement(field: NodeSelectorRequirement, path: str) -> Requirement:
    if field.operator not in (IN, NOT_IN):
        raise SelectorError(f'"{field.operator}" is not an operator for a field; use In or NotIn', f"{path}.operator")
    if len(field.values) != 1:
        raise SelectorError("must have one element", f"{path}.values")
    return Requirement(field.key, field.operator, field.values)


def _requirement(
    key: str, operator: str, values: tuple[str, ...], operators: tuple[str, ...], path: str
) -> Requirement:
    problems = qualified_name_problems(key)
    if problems:
        raise SelectorError(f'"{key}" is not a label key: {"; ".join(problems)}', path)
    if operator not in operators:
        known = ", ".join(operators)
        raise SelectorError(f'"{operator}" is not a selector operator; operators: {known}', f"{path}.operator")
    if operator in (IN, NOT_IN) and not values:
        raise SelectorError(f"{operator} needs at least one value", f"{path}.values")
    if operator in (EXISTS, DOES_NOT_EXIST) and values:
        raise SelectorError(f"{operator} takes no values", f"{path}.values")
    if operator in (GT, LT) and (len(values) != 1 or parse_int64(values[0]) is None):
        raise SelectorError(f"{operator} needs exactly one whole number", f"{path}.values")
    for value in values:
        problems = label_value_problems(value)
        if problems:
            raise SelectorError(f'"{value}" is not a label value: {"; ".join(problems)}', path)
    return Requirement(key, operator, values)


def parse_int64(text: str) -> int | None:
    """Parse an integer as strconv.ParseInt does; return ``None`` if it is invalid or exceeds int64."""
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-0")
    if len(digits) > _INT64_DIGITS:
        return None
    number = int(digits or "0") * (-1 if text.startswith("-") else 1)
    return number if -(2**63) <= number < 2**63 else None
