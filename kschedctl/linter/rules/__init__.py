"""The rules, in modules by family. A rule is a function below ``@rule``; the list is in the order of their codes."""

from typing import Final

from kschedctl.linter.rule import Rule
from kschedctl.linter.rules import (
    api_versions,
    autoscalers,
    budgets,
    group_trees,
    manifests,
    node_pools,
    node_selection,
    pod_groups,
    pods,
    priorities,
    rollouts,
    schedulers,
    snapshot,
    snapshot_capacity,
    spreading,
    volumes,
)

_FAMILIES: Final = (
    *(node_selection, spreading, pods, rollouts, autoscalers, budgets, priorities, volumes),
    *(snapshot, snapshot_capacity, schedulers, pod_groups, group_trees, node_pools, manifests, api_versions),
)

RULES: Final = tuple(
    sorted(
        (rule for family in _FAMILIES for rule in vars(family).values() if isinstance(rule, Rule)),
        key=lambda rule: rule.code,
    )
)
