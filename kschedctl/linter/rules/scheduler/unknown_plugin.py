"""A profile names a plugin that kube-scheduler does not have.

If the plugin is enabled, kube-scheduler exits when it starts. If it is disabled, nothing is disabled, and the plugin's
replacement stays enabled: since Kubernetes 1.22 NodeResourcesFit computes the scores of NodeResourcesLeastAllocated.
Plugins of kubernetes-sigs/scheduler-plugins are info, as a scheduler can be built with them. Name your own plugins in
the settings (``plugins``).

Pods of the profiles stay pending, or are scheduled to other nodes than intended.

Repair: the plugin's current name, or its replacement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import similar
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.scheduler_profiles import ALL, OUT_OF_TREE, in_tree, plugins, profiles
from kschedctl.linter.values import at, is_rendered, numbered, text

FAILS = """kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      disabled:
      - name: NodeResourcesLeastAllocated  # <-
"""
PASSES = FAILS.replace("NodeResourcesLeastAllocated", "NodeResourcesFit")

#: The plugin that replaces a removed one; empty if none does.
_GONE: Final = {
    "NodeResourcesLeastAllocated": "NodeResourcesFit",
    "NodeResourcesMostAllocated": "NodeResourcesFit",
    "RequestedToCapacityRatio": "NodeResourcesFit",
    "SelectorSpread": "PodTopologySpread",
    "NodeLabel": "NodeAffinity",
    "NodePreferAvoidPods": "",
    "ServiceAffinity": "",
    **dict.fromkeys(
        ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits", "NonCSILimits"), "NodeVolumeLimits"
    ),
}


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    known = {*in_tree(context.release), *context.plugins, ALL}
    told: set[str] = set()
    for steps, profile in profiles(obj):
        named = [(each.name, (*each.steps, "name"), each.enabled) for each in plugins(profile, steps)]
        for way, raw in numbered(at(profile, "pluginConfig"), (*steps, "pluginConfig")):
            if name := text(at(raw, "name")):
                named.append((name, (*way, "name"), True))
        for name, where, enabled in named:
            if name in told or name in known or not is_rendered(name):
                continue
            told.add(name)
            instead = _GONE.get(name)
            near = similar(name, known) if instead is None else [instead] if instead else []
            effect = "kube-scheduler exits" if enabled else "this disables nothing"
            out_of_tree = name in OUT_OF_TREE
            yield Problem(
                message=f"{name} is a plugin of scheduler-plugins, not of kube-scheduler"
                if out_of_tree
                else f"kube-scheduler has no plugin {name}: {effect}",
                steps=where,
                help="run a scheduler that is built with it"
                if out_of_tree
                else f"use {near[0]}"
                if instead
                else f"did you mean {near[0]}?"
                if near
                else "name it in the settings (plugins) if it is your own",
                severity=Severity.INFO if out_of_tree else None,
            )
