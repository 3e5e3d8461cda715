"""A KubeSchedulerConfiguration with pseudonyms: profiles stay, everything else (connections, extenders) is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kschedctl.objects.selectors import NodeAffinity
from kschedctl.scheduler.framework.config.load import SchedulerConfiguration
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS
from kschedctl.sources.snapshot.anonymize import renaming
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms

#: The scheduler's own words in the args of in-tree plugins; all other texts are names.
_OWN_WORDS: Final = frozenset(
    {
        "*",
        *IN_TREE_PLUGINS,
        "DoNotSchedule",
        "LeastAllocated",
        "List",
        "MostAllocated",
        "RequestedToCapacityRatio",
        "ScheduleAnyway",
        "System",
    }
)
#: The fields that list resources.
_RESOURCES: Final = frozenset({"resources", "ignoredResources", "ignoredResourceGroups"})


def case_config(configuration: SchedulerConfiguration) -> dict[str, Any]:
    """Return the part of a configuration that decisions depend on, as written."""
    settings = configuration.settings
    percentage = settings.percentage_of_nodes_to_score
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        **({"percentageOfNodesToScore": percentage} if percentage else {}),
        "profiles": msgspec.json.decode(msgspec.json.encode(settings.profiles)),
    }


def anonymous_config(config: dict[str, Any], names: Pseudonyms) -> dict[str, Any]:
    """Return the result of ``case_config`` with pseudonyms; before these are settled, a call only collects names."""
    return {**config, "profiles": [_renamed("", profile, names) for profile in config.get("profiles", ())]}


def _renamed(field: str, value: Any, names: Pseudonyms) -> Any:
    if isinstance(value, dict):
        return {name: _part(field, name, part, names) for name, part in value.items()}
    if isinstance(value, list):
        return [_renamed(field, item, names) for item in value]
    if isinstance(value, str):
        return _rule(field, names)(value)
    return value


def _part(inside: str, name: str, value: Any, names: Pseudonyms) -> Any:
    if name == "addedAffinity" and value is not None:
        renamed = renaming(names).rewrite(msgspec.convert(value, NodeAffinity))
        return msgspec.json.decode(msgspec.json.encode(renamed))
    # The name of a resource stands in an object of the list of resources.
    return _renamed(inside if inside in _RESOURCES and name == "name" else name, value, names)


def _rule(field: str, names: Pseudonyms) -> Callable[[str], str]:
    if field in _RESOURCES:
        return names.resource
    if field == "topologyKey":
        return names.key
    return lambda text: text if text in _OWN_WORDS or field in ("apiVersion", "kind") else names.word(text)
