"""Findings in the form of messages of an API server and its clients."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kschedctl.common.findings import Finding
from kschedctl.objects.releases.release import RELEASES, Release
from kschedctl.objects.schema.schema import UNREADABLE, unknown_fields
from kschedctl.objects.validation.part import WARNING
from kschedctl.objects.validation.pod_rejections import FAILED_CREATE, FORBIDDEN
from kschedctl.objects.validation.validate import refuses, validate

RELEASE = RELEASES["1.36"]
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MADE_UP = re.compile(r'^(metadata\.name: Invalid value: ".*?)[a-z0-9]{5}(": )')


class Said(NamedTuple):
    """The messages in order: rejections of an object, rejections of its pods, and warnings."""

    refused: tuple[str, ...]
    pods: tuple[str, ...]
    warned: tuple[str, ...]


def said(obj: Mapping[str, Any], release: Release = RELEASE) -> Said:
    """Return the messages of strict validation of an object."""
    api_version, kind = obj["apiVersion"], obj["kind"]
    found = list(validate(api_version, kind, obj, release))
    refused = [finding for finding in found if refuses(finding)]
    unknown = [finding.problem for finding in unknown_fields(obj, api_version, kind)]
    if unknown and not (refused and refused[0].rule == UNREADABLE):
        return Said((f"strict decoding error: {', '.join(unknown)}",), (), ())
    return Said(
        normal(map(message, refused)),
        tuple(message(finding) for finding in found if finding.rule == FAILED_CREATE),
        tuple(message(finding) for finding in found if finding.rule == WARNING),
    )


def message(finding: Finding) -> str:
    """Return a finding's message, prefixed with its field as an API server does."""
    whole = finding.rule in (UNREADABLE, FORBIDDEN) or not finding.field
    return finding.problem if whole else f"{finding.field}: {finding.problem}"


def normal(messages: Iterable[str]) -> tuple[str, ...]:
    """Return the messages without duplicates and without random parts: uids, and the suffixes of generated names."""
    plain = (_MADE_UP.sub(r"\1xxxxx\2", _UID.sub("UID", text)) for text in messages)
    return tuple(dict.fromkeys(plain))
