"""The values of what-if options, as the user wrote them, and the edits that they define."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from kschedctl.common.findings import Finding
from kschedctl.sources.snapshot.decoding import Validation
from kschedctl.trials.whatif.edit import Edit, FileEdit
from kschedctl.trials.whatif.edits import EDITS


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfs:
    """The values of what-if options.

    Attributes
    ----------
    texts : mapping of str to tuple of str
        The values by the option's name.
    namespace : str
        The namespace of objects that name none; empty for ``default``.
    validation : Validation
        The handling of unknown and duplicate fields of manifests, as with kubectl's ``--validate``.
    max_bytes : int or None
        The most bytes that are unpacked of a manifest; ``None`` for the default.
    """

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    namespace: str = ""
    validation: Validation = Validation.STRICT
    max_bytes: int | None = None

    @property
    def given(self) -> bool:
        """True if any option has a value."""
        return any(self.texts.values())

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that the options read; ``-`` is standard input."""
        return tuple(source for edit, text in self._values() for source in edit.sources(text))

    def edits(self, warn_of: Callable[[Finding], None]) -> tuple[Edit, ...]:
        """Parse the values and return the edits in the order in which they take effect.

        Parameters
        ----------
        warn_of : callable
            Takes the warnings about manifests.

        Raises
        ------
        InputError
            If a value cannot be parsed.
        """
        edits = tuple(self._parsed(edit, text) for edit, text in self._values())
        for edit in edits:
            for warning in edit.warnings if isinstance(edit, FileEdit) else ():
                warn_of(warning)
        return edits

    def _parsed(self, edit: type[Edit], text: str) -> Edit:
        if issubclass(edit, FileEdit):
            return edit.parse(text, self.namespace, validation=self.validation, max_unpacked=self.max_bytes)
        return edit.parse(text, self.namespace)

    def _values(self) -> Iterator[tuple[type[Edit], str]]:
        for edit in EDITS:
            for text in self.texts.get(edit.option.name, ()):
                yield edit, text
