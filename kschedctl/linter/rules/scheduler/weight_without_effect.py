"""A plugin's weight or arguments have no effect.

A weight applies to Score only. A weight of 0 is treated as 1; to have no weight, disable the plugin at score. The
arguments of a plugin that is enabled at no extension point are not used.

Nodes are chosen by other scores than intended.

Repair: leave it out, or enable the plugin.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.scheduler_profiles import (
    ALL,
    MULTI_POINT,
    SCORES,
    in_tree,
    is_enabled_at_multi_point,
    plugins,
    profiles,
)
from kschedctl.linter.values import at, numbered, text

FAILS = """kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled:
      - name: NodePorts
        weight: 5  # <-
"""
PASSES = FAILS.replace("NodePorts", "NodeAffinity")


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    known = in_tree(context.release)
    for steps, profile in profiles(obj):
        named = plugins(profile, steps)
        for each in named:
            if each.weight is None or not each.enabled:
                continue
            where = (*each.steps, "weight")
            if each.point not in (MULTI_POINT, "score"):
                yield Problem(
                    message=f"a weight applies only at score, not at {each.point}", steps=where, help="leave it out"
                )
            elif each.name in known and each.name not in SCORES:
                yield Problem(
                    message=f"{each.name} computes no scores, so its weight has no effect",
                    steps=where,
                    help="leave it out",
                )
            elif each.weight == 0:
                yield Problem(
                    message=f"weight 0 of {each.name} is treated as 1",
                    steps=where,
                    help="disable it at score if it should not count",
                )
        enabled = {each.name for each in named if each.enabled}
        for way, raw in numbered(at(profile, "pluginConfig"), (*steps, "pluginConfig")):
            name = text(at(raw, "name"))
            if not name or name in enabled or is_enabled_at_multi_point(name, named, context.release):
                continue
            if name == ALL or _enabled_by_default_elsewhere(name, known):
                continue
            yield Problem(
                message=f"no extension point of the profile has {name}: its arguments are not used",
                steps=(*way, "name"),
                help="enable it, or leave the arguments out",
            )


def _enabled_by_default_elsewhere(name: str, known: frozenset[str]) -> bool:
    """Report whether a name is unknown and begins in lower case, so that it is no plugin's; KS602 reports it."""
    return name not in known and not name[:1].isupper()
