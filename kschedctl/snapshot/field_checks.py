"""Fields of manifests that an API server would not take: unknown ones, and those that are given twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec

from kschedctl.api.schema.strict import is_known, repeated_field, unknown_fields
from kschedctl.errors import InputError
from kschedctl.findings.finding import Finding
from kschedctl.findings.location import Location
from kschedctl.snapshot.conform import plain
from kschedctl.snapshot.validation import Validation
from kschedctl.text.repeated_keys import RepeatedKey

_REFUSED: Final = "strict decoding error"
_ITEMS: Final = "items"


def refused(findings: Sequence[Finding]) -> list[Finding]:
    """What strict validation refuses, in the words that it is refused with."""
    return [replace(finding, problem=f"{_REFUSED}: {finding.problem}") for finding in findings]


class FieldChecks:
    """Looks at the objects of documents, one after the other.

    Parameters
    ----------
    validation : Validation
        What becomes of what is found.
    """

    def __init__(self, validation: Validation) -> None:
        self._validation = validation
        self._repeated: tuple[RepeatedKey, ...] = ()

    @property
    def wanted(self) -> bool:
        """Whether anything is looked at."""
        return self._validation is not Validation.IGNORE

    @property
    def are_errors(self) -> bool:
        """Whether what is found is refused."""
        return self._validation is Validation.STRICT

    def begin(self, repeated: tuple[RepeatedKey, ...]) -> None:
        """Take the next document, with its repeated keys."""
        self._repeated = repeated

    def of(self, text: memoryview | msgspec.Raw, api_version: str, kind: str, location: Location) -> list[Finding]:
        """What is found in an object of the document.

        Parameters
        ----------
        text : memoryview or Raw
            The object as JSON.
        api_version, kind : str
            What it is; of a kind that is not known nothing is found.
        location : Location
            Which object of the document it is.
        """
        if not self.wanted or not is_known(api_version, kind):
            return []
        try:
            value = plain(text)
        except InputError as error:
            # Where no field that is read is broken, decoding would pass over it, and over what is not checked here.
            return list(error.findings)
        found = [*unknown_fields(value, api_version, kind), *self._repeated_in(location)]
        return refused(found) if self.are_errors else found

    def _repeated_in(self, location: Location) -> list[Finding]:
        inside = () if location.item is None else (_ITEMS, location.item - 1)
        own = [key for key in self._repeated if key.steps[: len(inside)] == inside]
        # Of a list inside a list all items stand at one place: what is told of the first is not told again.
        self._repeated = tuple(key for key in self._repeated if key not in own)
        return [repeated_field(key.steps[len(inside) :], key.position) for key in own]
