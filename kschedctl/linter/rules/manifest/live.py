"""The object was read from a cluster: it has a uid, a resource version or a status.

The cluster sets fields that the author did not write: node name, priority, scheduling gates. Rules about these fields
ignore the object.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
uid: 4f5a  # <-
nodeName: node-1
"""
PASSES = FAILS.replace("uid: 4f5a  # <-\n", "").replace("nodeName: node-1\n", "")


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    if obj.live:
        metadata = obj.raw.get("metadata")
        of = metadata if isinstance(metadata, dict) else {}
        field = next((name for name in ("uid", "resourceVersion") if of.get(name)), "")
        yield Problem(
            message="read from a cluster: rules ignore fields that the cluster sets",
            steps=("metadata", field) if field else ("status",),
            key=not field,
        )
