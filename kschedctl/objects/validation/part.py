"""The cursor of validation: a part of an object with its place, which collects the findings about the object."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count, repeat
from typing import Any, Final

import msgspec

from kschedctl.common.findings import Finding, Severity
from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed

#: The rule of warnings.
WARNING: Final = "Warning"
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"
_OWN: Final = object()


class Part(msgspec.Struct, eq=False):
    """A part of an object under validation: its value, and its place, of which a path is made only for a finding.

    A check of an absent part finds nothing, except for `require` and the methods that add a finding.
    """

    #: ``None`` if the part is absent.
    value: Any
    #: The field, the index, or the key in brackets, at which the part is; for the root, the path of the root.
    name: str | int = ""
    #: ``None`` for the root.
    holder: "Part | None" = None
    #: The findings about the whole object, in the order in which they were made.
    findings: list[Finding] = []

    def child(self, name: str | int, value: Any) -> "Part":
        """Return a part with a value of its own, at a field, an index or a key in brackets of this one."""
        return Part(value, name, self, self.findings)

    def with_value(self, value: Any) -> "Part":
        """Return a part at the same place with another value."""
        return Part(value, self.name, self.holder, self.findings)

    def __getitem__(self, name: str) -> "Part":
        value = self.value
        return Part(None if value is None else value.get(name), name, self, self.findings)

    def at(self, name: str, default: Any) -> "Part":
        """Return the part in a field, with a default as its value if it is absent."""
        return Part(self.get(name, default), name, self, self.findings)

    def get(self, name: str, default: Any = "") -> Any:
        """Return the value of a field, or a default if it is absent."""
        return default if self.value is None else self.value.get(name, default)

    def __iter__(self) -> Iterator["Part"]:
        # Most lists of a Pod are absent.
        return map(Part, self.value, count(), repeat(self), repeat(self.findings)) if self.value else iter(())

    def __contains__(self, name: str) -> bool:
        return self.value is not None and name in self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    @property
    def path(self) -> str:
        """The path of the part from the root of the object."""
        if self.holder is None:
            return str(self.name)
        path, name = self.holder.path, self.name
        if isinstance(name, int):
            return f"{path}[{name}]"
        return f"{path}.{name}" if path and not name.startswith("[") else f"{path}{name}"

    @property
    def given(self) -> bool:
        """True if the part is not absent; it can be empty."""
        return self.value is not None

    @property
    def nonempty(self) -> "Part":
        """The part itself, or an absent one if it is empty."""
        return self if self.value else self.with_value(None)

    @property
    def typed(self) -> "Part":
        """The part with its text as one of a named type or a pointer in Go."""
        return self if self.value is None else self.with_value(Typed(self.value))

    # Findings.

    def invalid(self, detail: str, shown: Any = _OWN) -> None:
        """Find the value invalid.

        Args:
            shown: The value in the message, if it is not the part's own.
        """
        self.findings.append(field_errors.invalid(self.path, self.value if shown is _OWN else shown, detail))

    def required(self, detail: str = "") -> None:
        """Find the part missing."""
        self.findings.append(field_errors.required(self.path, detail))

    def forbidden(self, detail: str) -> None:
        """Find that the part must not be set."""
        self.findings.append(field_errors.forbidden(self.path, detail))

    def duplicate(self, shown: Any = _OWN) -> None:
        """Find that the value is there already."""
        self.findings.append(field_errors.duplicate(self.path, self.value if shown is _OWN else shown))

    def not_found(self, detail: str = "") -> None:
        """Find that what the value refers to does not exist."""
        self.findings.append(field_errors.not_found(self.path, self.value, detail))

    def unsupported(self, supported: Iterable[str], shown: Any = _OWN, *, plain: bool = False) -> None:
        """Find the value outside of a fixed set; `plain` is true if it is a plain string in Go."""
        value = self.value if shown is _OWN else shown
        self.findings.append(field_errors.unsupported(self.path, value, supported, plain=plain))

    def too_long(self, most: int, unit: str = "bytes") -> None:
        """Find the text longer than `most` bytes or characters."""
        self.findings.append(field_errors.too_long(self.path, most, unit))

    def too_many(self, most: int) -> None:
        """Find more than `most` items."""
        self.findings.append(field_errors.too_many(self.path, len(self.value), most))

    def warn(self, message: str) -> None:
        """Add a warning about the part."""
        self.findings.append(Finding(message, self.path, rule=WARNING, severity=Severity.WARNING))

    # Checks.

    def check(self, rule: Callable[..., Iterable[str]], *args: Any, **options: Any) -> None:
        """Find the value invalid for each problem that a rule returns."""
        if self.value is not None:
            for problem in rule(self.value, *args, **options):
                self.invalid(problem)

    def require(self, detail: str = "", rule: Callable[[Any], Iterable[str]] | None = None) -> None:
        """Find an absent or empty part missing, and check any other by the rule."""
        if not self.value:
            self.required(detail)
        elif rule is not None:
            self.check(rule)

    def one_of(self, *supported: str) -> None:
        """Find a value that is not supported."""
        if self.value is not None and self.value not in supported:
            self.unsupported(supported)

    def require_one_of(self, *supported: str) -> None:
        """Find an absent, empty or unsupported value."""
        if not self.value:
            self.required()
        else:
            self.one_of(*supported)

    def not_negative(self) -> None:
        """Find a negative number."""
        if self.value is not None and self.value < 0:
            self.invalid(NOT_NEGATIVE)


def found_by(rule: Callable[..., None], value: Any, path: str, *args: Any) -> list[Finding]:
    """Return the findings of a rule about a value at a path."""
    part = Part(value, path)
    rule(part, *args)
    return part.findings
