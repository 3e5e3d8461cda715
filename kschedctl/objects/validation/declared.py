"""Validation by rules that are declared at the fields of a type (apimachinery's ``validate``), as newer kinds have it.

A type is a table: its fields in the order of the Go struct, each with its check. The table also defines which fields an
API server drops because their feature gate is off, and how messages print a value of the type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kschedctl.objects import field_errors
from kschedctl.objects.names import label_problems, path_segment_problems, subdomain_problems
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.values import invalid_findings, one_of

Check: TypeAlias = Callable[[Any, str], Found]
#: The value of an absent struct that Go holds in place, not by a pointer.
IN_PLACE: Final[Tree] = {}
_UNIT: Final = "bytes"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct.

    Attributes
    ----------
    check : callable, Struct or Items
        The check of a value that is set.
    zero : object
        The value that counts as absent: ``None`` for a pointer or a list, else Go's zero value.
    required : bool
        True if the value must be set.
    gate : str
        The feature gate without which an API server drops the field; empty if none.
    printed : bool
        True if messages print the field even if it is absent (no ``omitempty``).
    """

    name: str
    check: Check | Struct | Items
    zero: Any = None
    required: bool = False
    gate: str = ""
    printed: bool = False

    def value(self, tree: Tree) -> Any:
        """Return the field's value in a struct, or ``None`` if it is absent."""
        value = tree.get(self.name, self.zero)
        if self.zero is IN_PLACE:
            return value
        # An empty list counts as absent, while a pointer to an empty struct or text does not.
        return None if value == [] or (self.zero is not None and value == self.zero) else value


@dataclass(frozen=True, slots=True)
class Struct:
    """A type with fields.

    Attributes
    ----------
    fields : tuple of Field
        The fields in the order of the Go struct.
    union : tuple of str
        The fields of which exactly one must be set; empty if the type is no union.
    """

    fields: tuple[Field, ...] = ()
    union: tuple[str, ...] = ()

    def __call__(self, tree: Tree, path: str) -> Found:
        """Yield the problems of a value of the type."""
        given = [field.name for field in self.fields if field.name in self.union and field.value(tree) is not None]
        members = ", ".join(f"`{name}`" for name in self.union)
        if self.union and not given:
            yield field_errors.invalid(path, "", f"must specify one of: {members}")
        elif len(given) > 1:
            yield field_errors.invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {members}")
        for field in self.fields:
            value, at = field.value(tree), f"{path}.{field.name}"
            if value is not None:
                yield from field.check(value, at)
            elif field.required:
                yield field_errors.required(at)

    def drop_disabled(self, tree: Tree, context: ValidationContext) -> None:
        """Remove the fields whose feature gates are off, as an API server does before validation."""
        for field in self.fields:
            if field.gate and not context.on(field.gate):
                tree.pop(field.name, None)
            elif field.name in tree and isinstance(field.check, Struct | Items):
                field.check.drop_disabled(tree[field.name], context)

    def printed(self, tree: Tree, *, is_internal: bool = False) -> Tree:
        """Return a value as messages print it.

        Parameters
        ----------
        is_internal : bool
            True for the API server's internal type: with Go's names and with all fields.
        """
        out = {}
        for field in self.fields:
            value = field.value(tree)
            if value is None and not (is_internal or field.required or field.printed):
                continue
            if value is None:
                value = tree.get(field.name, field.zero)
            elif isinstance(field.check, Struct | Items):
                value = field.check.printed(value, is_internal=is_internal)
            out[field.name[:1].upper() + field.name[1:] if is_internal else field.name] = value
        return out


@dataclass(frozen=True, slots=True)
class Items:
    """A list of structs.

    Attributes
    ----------
    of : callable
        Returns the type of the items; a function, because a type may contain itself.
    most : int
        The maximum number of items; with more, they are not validated.
    key : str
        The field that must differ between items; empty if none.
    """

    of: Callable[[], Struct]
    most: int
    key: str = ""

    def __call__(self, items: list[Tree], path: str) -> Found:
        """Yield the problems of a list."""
        if len(items) > self.most:
            yield field_errors.too_many(path, len(items), self.most)
            return
        struct = self.of()
        if self.key:
            names = [item.get(self.key, "") for item in items]
            for i, item in enumerate(items):
                if names[i] in names[:i]:
                    yield field_errors.duplicate(f"{path}[{i}]", struct.printed(item))
        for i, item in enumerate(items):
            yield from struct(item, f"{path}[{i}]")

    def drop_disabled(self, items: list[Tree], context: ValidationContext) -> None:
        """Remove the fields of the items whose feature gates are off."""
        for item in items:
            self.of().drop_disabled(item, context)

    def printed(self, items: list[Tree], *, is_internal: bool = False) -> list[Tree]:
        """Return the items as messages print them."""
        return [self.of().printed(item, is_internal=is_internal) for item in items]


def at_least(least: int) -> Check:
    """Return a check that a number is not below `least`."""

    def check(value: int, path: str) -> Found:
        if value < least:
            yield field_errors.invalid(path, value, f"must be greater than or equal to {least}")

    return check


def at_most(most: int) -> Check:
    """Return a check that a number is not above `most`."""

    def check(value: int, path: str) -> Found:
        if value > most:
            yield field_errors.invalid(path, value, f"must be less than or equal to {most}")

    return check


def any_of(supported: Iterable[str]) -> Check:
    """Return a check that a text is one of the supported ones."""
    return lambda value, path: one_of(value, supported, path)


def short_name(value: str, path: str) -> Found:
    """Yield the problems of a name that must be a DNS label (no dots)."""
    yield from invalid_findings(label_problems(value, _UNIT), value, path)


def long_name(value: str, path: str) -> Found:
    """Yield the problems of a name that must be a DNS subdomain."""
    yield from invalid_findings(subdomain_problems(value, _UNIT), value, path)


def path_segment(value: str, path: str) -> Found:
    """Yield the problems of a name that must be a segment of an API path."""
    yield from invalid_findings(path_segment_problems(value), value, path)
