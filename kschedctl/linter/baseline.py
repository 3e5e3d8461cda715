"""A baseline: a file of known findings, which lint suppresses so that only new findings are reported.

The file has one line of JSON per finding: rule, object, field by the names of list items, message, and the number of
occurrences. It has no line numbers, so that a finding stays known if it moves in its file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

import msgspec

from kschedctl.common.errors import ConfigError
from kschedctl.common.text.json_text import encodable
from kschedctl.linter.diagnosis import Diagnosis, named_path
from kschedctl.linter.ignore import Ignore, Ignored
from kschedctl.sources.snapshot.files import file_bytes

_HINT: Final = "kschedctl lint --baseline FILE --update-baseline writes the baseline"


class FindingKey(NamedTuple):
    """The key of a finding in a baseline."""

    rule: str
    kind: str
    namespace: str
    name: str
    field: str
    message: str


class _Entry(msgspec.Struct):
    """A line of a baseline: the fields of a finding's key, and the number of occurrences."""

    rule: str
    kind: str
    namespace: str
    name: str
    field: str
    message: str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


_ENTRIES: Final = msgspec.json.Decoder(_Entry)


def finding_key(diagnosis: Diagnosis) -> FindingKey:
    """Return the key of a finding."""
    obj = diagnosis.object
    if obj is None:
        return FindingKey(diagnosis.rule.code, "", "", encodable(diagnosis.file.name), "", diagnosis.message)
    path = named_path(obj.raw, diagnosis.steps)
    return FindingKey(diagnosis.rule.code, obj.kind, obj.namespace, obj.name, path, diagnosis.message)


@dataclass
class Baseline:
    """A baseline: known findings, which are suppressed."""

    #: The file of the baseline.
    file: str
    #: The number of occurrences of each finding.
    counts: Counter[FindingKey]

    @classmethod
    def read(cls, file: str) -> Baseline:
        """Read a baseline.

        Raises
        ------
        ConfigError
            If the file cannot be read, or a line is malformed.
        """
        counts: Counter[FindingKey] = Counter()
        for number, line in enumerate(file_bytes(file, ConfigError, hint=_HINT).splitlines(), 1):
            if line.strip():
                known, count = _parsed(line, file, number)
                counts[known] += count
        return cls(file, counts)

    def split(self, found: Iterable[Diagnosis]) -> tuple[list[Diagnosis], list[Ignored], int]:
        """Return the new findings, the known findings, and the number of known findings that no longer occur."""
        left = self.counts.copy()
        new, old = [], []
        by = Ignore(None, "in the baseline", "baseline", self.file, 1, used=True)
        for diagnosis in found:
            known = finding_key(diagnosis)
            if left[known] > 0:
                left[known] -= 1
                old.append(Ignored(diagnosis, by))
            else:
                new.append(diagnosis)
        return new, old, sum(left.values())


def _parsed(line: bytes, file: str, number: int) -> tuple[FindingKey, int]:
    try:
        entry = _ENTRIES.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ConfigError(f"line {number} is not an entry of a baseline", where=file, hint=_HINT) from None
    return FindingKey(*(getattr(entry, field) for field in FindingKey._fields)), entry.count


def baseline_text(found: Iterable[Diagnosis]) -> str:
    """Return findings as the text of a baseline, sorted."""
    counts = Counter(map(finding_key, found))
    lines = (
        json.dumps({**known._asdict(), "count": count}, ensure_ascii=False) for known, count in sorted(counts.items())
    )
    return "".join(f"{line}\n" for line in lines)
