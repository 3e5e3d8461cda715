"""Replacement of fields in objects, at any depth."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from kschedctl.objects.quantity import QuantityError, parse_quantity

T = TypeVar("T", bound=msgspec.Struct)
Replacement = Callable[[Any], Any]
#: Returns the replacement for a field of a type; ``None`` to descend into the field's structs instead.
FieldRule = Callable[[type[msgspec.Struct], str], Replacement | None]


class Rewriter:
    """A rewriter that replaces fields of structs, and of the structs inside them.

    Args:
        field_rule: Returns the replacement for a field, by type and name; called once for each.
        struct_rules: The replacements for whole structs, by type.

    An unchanged struct is returned as the same object. Types without any replaced field cost nothing.
    """

    def __init__(
        self, field_rule: FieldRule, struct_rules: dict[type[msgspec.Struct], Replacement] | None = None
    ) -> None:
        self._field_rule = field_rule
        self._struct_rules = struct_rules or {}
        self._plans: dict[type[msgspec.Struct], tuple[tuple[str, Replacement], ...]] = {}

    def rewrite(self, struct: T) -> T:
        """Return the struct with all replacements made."""
        rule = self._struct_rules.get(type(struct))
        if rule is not None:
            replaced: T = rule(struct)
            return replaced
        changes = {}
        for name, replacement in self._plan(type(struct)):
            value = getattr(struct, name)
            new = replacement(value)
            if new is not value and new != value:
                changes[name] = new
        return replace(struct, **changes) if changes else struct

    def _plan(self, type_: type[msgspec.Struct]) -> tuple[tuple[str, Replacement], ...]:
        """Return the fields that may change, with their replacements."""
        plan = self._plans.get(type_)
        if plan is None:
            changes: list[tuple[str, Replacement]] = []
            for field in msgspec.structs.fields(type_):
                replacement = self._field_rule(type_, field.name)
                if replacement is not None:
                    changes.append((field.name, replacement))
                elif any(part in self._struct_rules or self._plan(part) for part in structs_in(field.type)):
                    changes.append((field.name, self._parts))
            plan = self._plans[type_] = tuple(changes)
        return plan

    def _parts(self, value: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            return self.rewrite(value)
        if isinstance(value, tuple):
            new = tuple(map(self.rewrite, value))
            return new if any(a is not b for a, b in zip(new, value, strict=True)) else value
        return value


@cache
def structs_in(type_: Any) -> tuple[type[msgspec.Struct], ...]:
    """Return the struct types in the type of a field, such as the type of a tuple's items."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return (type_,)
    return tuple(struct for part in get_args(type_) for struct in structs_in(part))


# Amounts in anonymised snapshots: quantities are kept, any other text in their place is removed.

_NO_QUANTITY: Final = "none"


def anonymous_amount(amount: Any) -> Any:
    """Return a quantity unchanged, and ``"none"``, which is not a quantity either, for any other text.

    >>> anonymous_amount("2Gi"), anonymous_amount("Alice")
    ('2Gi', 'none')
    """
    try:
        parse_quantity(amount)
    except QuantityError:
        return _NO_QUANTITY
    return amount
