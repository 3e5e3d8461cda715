"""Label selectors and node selectors: their types, their notation and their matching."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.text.patterns import pattern
from kschedctl.objects.meta import ApiStruct, Int32, LabelSelector, LabelSelectorRequirement
from kschedctl.objects.names import label_value_problems, qualified_name_problems

# The NodeSelector (core/v1): the terms by which pods and PersistentVolumes select nodes.


class NodeSelectorRequirement(ApiStruct, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(ApiStruct, frozen=True):
    """A conjunction of requirements. A term without requirements matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(ApiStruct, frozen=True):
    """A disjunction of terms: at least one term must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(ApiStruct, frozen=True):
    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiStruct, frozen=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


_INT64_DIGITS: Final = 19
_INTEGER: Final = pattern(r"[+-]?[0-9]+", re.ASCII)

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

    Args:
        path: The path of the field, relative to the selector.
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

    Raises SelectorError if metav1.LabelSelectorAsSelector would reject the selector.
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

    Raises SelectorError if component-helpers ``nodeaffinity`` would reject the term.
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


# Label selectors in the notation of kubectl's ``-l`` option: ``app=web,tier!=db,zone in (a,b),!legacy``.

#: Commas between requirements, but not those inside parentheses.
_COMMA: Final = pattern(r",(?![^()]*\))")
_SET: Final = pattern(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY: Final = pattern(r"([^\s=!<>()]+)\s*(==|=|!=)\s*([^\s=!<>()]*)")
_EXISTENCE: Final = pattern(r"(!?)\s*([^\s=!<>()]+)")


def parse_label_query(text: str) -> Selector:
    """Parse a label selector.

    Raises InputError if the text is not a label selector.

    >>> [str(requirement) for requirement in parse_label_query("app=web, zone in (a,b), !legacy")]
    ['app=web', 'zone in (a,b)', '!legacy']
    """
    try:
        expressions = tuple(_label_query_requirement(part.strip()) for part in _COMMA.split(text))
        return parse_label_selector(LabelSelector(match_expressions=expressions))
    except SelectorError as error:
        hint = "such as app=web, app!=web, 'app in (web,api)', app or '!app', with commas between them"
        raise InputError(f'"{text}" is not a label selector: {error}', path="--selector", hint=hint) from None


def _label_query_requirement(text: str) -> LabelSelectorRequirement:
    if match := _SET.fullmatch(text):
        values = tuple(value.strip() for value in match[3].split(","))
        return LabelSelectorRequirement(key=match[1], operator=IN if match[2] == "in" else NOT_IN, values=values)
    if match := _EQUALITY.fullmatch(text):
        operator = NOT_IN if match[2] == "!=" else IN
        return LabelSelectorRequirement(key=match[1], operator=operator, values=(match[3],))
    if match := _EXISTENCE.fullmatch(text):
        return LabelSelectorRequirement(key=match[2], operator=DOES_NOT_EXIST if match[1] else EXISTS)
    raise SelectorError(f'"{text}" cannot be read', "")
