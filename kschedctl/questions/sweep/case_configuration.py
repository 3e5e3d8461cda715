"""The scheduler configuration of a case: the plan's configuration with changed plugin weights and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from kschedctl.common.errors import ConfigError
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND


def configured(
    config: Mapping[str, Any] | None, weights: Mapping[str, int], args: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration with changed plugin weights and arguments in all of its profiles.

    A weight is set at the extension point ``score``, where it takes precedence over ``multiPoint``. A plugin with
    weight 0 is disabled at that extension point.

    Parameters
    ----------
    config : mapping or None
        The configuration as plain data, which is not modified; ``None`` for kube-scheduler's default.
    weights : mapping of str to int
        The weights, by plugin.
    args : mapping of str to mapping
        The arguments, by plugin and path, such as ``scoringStrategy.type``.

    Raises
    ------
    ConfigError
        If a field that must contain the changes is not an object or list.

    Examples
    --------
    >>> configured(None, {"ImageLocality": 5}, {})["profiles"]
    [{'plugins': {'score': {'enabled': [{'name': 'ImageLocality', 'weight': 5}]}}}]
    """
    new: dict[str, Any] = deepcopy(dict(config)) if config is not None else {"apiVersion": API_VERSION, "kind": KIND}
    if not weights and not args:
        return new
    profiles = _inside(new, "profiles", list)
    if not profiles:
        profiles.append({})
    for profile in profiles:
        if not isinstance(profile, dict):
            raise ConfigError("is not an object", path="profiles")
        if weights:
            score = _inside(_inside(profile, "plugins", dict), "score", dict)
            for plugin, weight in weights.items():
                _set_weight(score, plugin, weight)
        for plugin, own in args.items():
            given = _args(_inside(profile, "pluginConfig", list), plugin)
            for path, value in own.items():
                _set(given, path, value)
    return new


def _inside(parent: dict[str, Any], name: str, kind: type) -> Any:
    """Return the object or list under a name, and create it if it is missing."""
    if parent.get(name) is None:
        parent[name] = kind()
    found = parent[name]
    if not isinstance(found, kind):
        raise ConfigError(f"is not {'a list' if kind is list else 'an object'}", path=name)
    return found


def _set_weight(score: dict[str, Any], plugin: str, weight: int) -> None:
    for name in ("enabled", "disabled"):
        kept = [each for each in score.get(name) or () if not (isinstance(each, dict) and each.get("name") == plugin)]
        if kept or name in score:
            score[name] = kept
    if weight:
        _inside(score, "enabled", list).append({"name": plugin, "weight": weight})
    else:
        _inside(score, "disabled", list).append({"name": plugin})


def _args(plugin_config: list[Any], plugin: str) -> dict[str, Any]:
    for each in plugin_config:
        if isinstance(each, dict) and each.get("name") == plugin:
            return _args_of(each)
    each = {"name": plugin}
    plugin_config.append(each)
    return _args_of(each)


def _args_of(plugin_config: dict[str, Any]) -> dict[str, Any]:
    """Return the args in an entry of pluginConfig, and create them if they are missing."""
    found: dict[str, Any] = _inside(plugin_config, "args", dict)
    return found


def _set(args: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for step in parents:
        args = _inside(args, step, dict)
    args[last] = value
