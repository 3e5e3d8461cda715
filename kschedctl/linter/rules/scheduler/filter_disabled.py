"""A profile disables a plugin that filters out nodes on which pods cannot run.

For ``NodeResourcesFit``, ``VolumeBinding`` and ``NodePorts`` that is an error: pods are bound to full nodes and are
failed by the kubelet (OutOfcpu), or are bound without their volumes. Usually only the scores were intended: these are
disabled at ``score``.

Pods are bound to nodes where they cannot run, fail, and are recreated again and again.

Repair: disable the plugin only at score, or enable it at filter again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.scheduler_profiles import (
    ALL,
    FILTERS,
    MULTI_POINT,
    NEEDED,
    PluginEntry,
    is_enabled,
    plugins,
    profiles,
)

FAILS = """kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled:
      - name: NodeResourcesFit  # <-
"""
PASSES = FAILS.replace("multiPoint", "score")

_VITAL: Final = frozenset(("NodeResourcesFit", "VolumeBinding", "NodePorts"))


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    filters = [name for name, _ in context.release.default_plugins if name in FILTERS]
    for steps, profile in profiles(obj):
        named = plugins(profile, steps)
        lost: dict[tuple[str | int, ...], list[str]] = {}
        for name in filters:
            for point in ("filter", *NEEDED.get(name, ())):
                if not is_enabled(name, point, named, context.release):
                    by = _disabled_by(name, point, named)
                    if by is not None:
                        lost.setdefault(by.steps, []).append(name)
                    break
        for where, names in lost.items():
            vital = [name for name in names if name in _VITAL]
            yield Problem(
                message=f"without {', '.join(names)}, pods are bound to nodes where they cannot run",
                steps=(*where, "name"),
                help="disable it only at score, or enable it at filter again",
                severity=Severity.ERROR if vital else None,
            )


def _disabled_by(name: str, point: str, named: list[PluginEntry]) -> PluginEntry | None:
    """Return the entry of a profile that disables a plugin at an extension point, if any."""
    for at in (point, MULTI_POINT):
        for each in named:
            if each.point == at and not each.enabled and each.name in (name, ALL):
                return each
    return None
