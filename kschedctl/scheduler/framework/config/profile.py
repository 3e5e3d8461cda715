"""Profiles: the plugins of each extension point, their order, weights and args.

The rules are those of ``mergePlugins`` (``pkg/scheduler/apis/config/v1/default_plugins.go``) and of ``NewFramework``
with its expansion of multiPoint (``pkg/scheduler/framework/runtime/framework.go``).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.config.types import KubeSchedulerProfile, PluginRef, PluginSet
from kschedctl.scheduler.framework.config.validation import Problems, validate_args
from kschedctl.scheduler.framework.extension_point import ExtensionPoint

#: The extension points of each existing plugin, by plugin name.
Implements = Mapping[str, frozenset[ExtensionPoint]]

_ALL: Final = "*"
_FIT: Final = "NodeResourcesFit"
_MAX_NODE_SCORE: Final = 100
_MAX_TOTAL_SCORE: Final = 2**63 - 1

#: The order in which the framework processes the extension points, and therefore reports errors.
_POINTS: Final[tuple[str, ...]] = (
    ExtensionPoint.PRE_FILTER,
    ExtensionPoint.FILTER,
    ExtensionPoint.POST_FILTER,
    ExtensionPoint.RESERVE,
    ExtensionPoint.PRE_SCORE,
    ExtensionPoint.SCORE,
    ExtensionPoint.PRE_BIND,
    ExtensionPoint.BIND,
    ExtensionPoint.POST_BIND,
    ExtensionPoint.PERMIT,
    ExtensionPoint.PRE_ENQUEUE,
    ExtensionPoint.QUEUE_SORT,
    ExtensionPoint.PLACEMENT_GENERATE,
    ExtensionPoint.PLACEMENT_SCORE,
    ExtensionPoint.PLACEMENT_FEASIBLE,
    ExtensionPoint.POD_GROUP_POST_FILTER,
)


class Profile(msgspec.Struct, frozen=True):
    """A resolved scheduler profile."""

    #: The ``spec.schedulerName`` of its pods.
    scheduler_name: str
    #: The plugins of every extension point in running order.
    plugins: Mapping[ExtensionPoint, tuple[str, ...]]
    #: The weights of the Score plugins, in running order.
    weights: Mapping[str, int]
    #: The args of every in-tree plugin that has any, with defaults filled in, even if the plugin is not enabled.
    #: Any other plugin with configured args has ``RawArgs``.
    args: Mapping[str, msgspec.Struct]
    #: The profile's own percentage; ``None`` if the percentage of the whole configuration applies.
    percentage_of_nodes_to_score: int | None
    #: The weights of the PlacementScore plugins.
    placement_weights: Mapping[str, int] = msgspec.field(default_factory=dict)
    #: The percentage of the placements of a pod group that are tried, the profile's own or that of the configuration;
    #: 0 for the share that kube-scheduler computes, ``None`` to try all.
    percentage_of_placements_to_score: int | None = None


def merge_default_plugins(plugins: PluginSet, release: Release, warnings: list[str]) -> PluginSet:
    """Return the multiPoint set of a profile, merged with the set of the default profile.

    A default plugin that is enabled again keeps its position and takes its weight as written, even if there is none.
    The other plugins follow in their order. The list of disabled plugins is kept for the individual extension points.
    """
    disabled = {plugin.name for plugin in plugins.disabled}
    custom = {plugin.name: i for i, plugin in enumerate(plugins.enabled)}
    enabled, replaced = [], set()
    for name, weight in release.default_plugins if _ALL not in disabled else ():
        if name in disabled:
            continue
        if name in custom:
            warnings.append(f"Default plugin is explicitly re-configured; overriding: {name}")
            replaced.add(custom[name])
            enabled.append(plugins.enabled[custom[name]])
        else:
            enabled.append(PluginRef(name, weight))
    enabled += [plugin for i, plugin in enumerate(plugins.enabled) if i not in replaced]
    return PluginSet(tuple(enabled), plugins.disabled)


class ProfileBuilder:
    """A builder that resolves one profile and records its problems.

    Args:
        release: The release whose default plugins and rules apply.
        implements: The existing plugins, and the extension points they implement.
        inert: The plugins among them that are valid but have no effect; the resolved profile omits them.
    """

    def __init__(
        self,
        profile: KubeSchedulerProfile,
        args: Mapping[str, msgspec.Struct],
        path: str,
        *,
        release: Release,
        implements: Implements,
        inert: frozenset[str],
        problems: Problems,
        warnings: list[str],
    ) -> None:
        self._profile = profile
        self._args = args
        self._path = path
        self._release = release
        self._implements = implements
        self._inert = inert
        self._problems = problems
        self._warnings = warnings
        self._points = tuple(point for point in _POINTS if point not in release.absent_config_fields)
        self._multi_point = merge_default_plugins(profile.plugins.multi_point, release, warnings)

    def build(self) -> Profile:
        """Resolve the profile; do not use the result if problems were recorded."""
        # The plugin itself validates its args when it is instantiated, that is, only if it is enabled.
        sets = (self._multi_point, *(self._profile.plugins.at(point) for point in self._points))
        if any(plugin.name == _FIT for plugins in sets for plugin in plugins.enabled):
            configs = [config.name for config in self._profile.plugin_config]
            own = f"{self._path}.pluginConfig[{configs.index(_FIT)}].args" if _FIT in configs else self._path
            self._problems.note(*validate_args(self._args[_FIT], own, self._release))
        self._check_names()
        resolved = {point: self._resolve(point) for point in self._points}
        self._check_counts(resolved)
        if (feasible := ExtensionPoint.PLACEMENT_FEASIBLE) not in resolved:
            # Without a field of their own, all plugins of the profile run that have the point.
            names = dict.fromkeys(name for plugins in resolved.values() for name in plugins)
            resolved[feasible] = tuple(name for name in names if self._implements_point(name, feasible))
        # A name without a weight was recorded as a problem.
        weights = self._weights(ExtensionPoint.SCORE)
        has_placements = ExtensionPoint.PLACEMENT_SCORE in self._points
        placement_weights = self._weights(ExtensionPoint.PLACEMENT_SCORE) if has_placements else {}
        return Profile(
            scheduler_name=self._profile.scheduler_name or "",
            plugins=MappingProxyType(
                {point: tuple(n for n in resolved.get(point, ()) if n not in self._inert) for point in ExtensionPoint}
            ),
            weights=MappingProxyType(
                {name: weights[name] for name in resolved[ExtensionPoint.SCORE] if name in weights}
            ),
            placement_weights=MappingProxyType(placement_weights),
            args=MappingProxyType(dict(self._args)),
            percentage_of_nodes_to_score=self._profile.percentage_of_nodes_to_score,
            percentage_of_placements_to_score=self._profile.percentage_of_placements_to_score,
        )

    def _implements_point(self, name: str, point: str) -> bool:
        return point in self._implements.get(name, frozenset())

    def _check_names(self) -> None:
        for point in self._points:
            seen = set()
            for i, plugin in enumerate(self._profile.plugins.at(point).enabled):
                path = f"{self._path}.plugins.{point}.enabled[{i}]"
                if plugin.name not in self._implements:
                    self._problems.add(path, f'{_interface(point)} "{plugin.name}" does not exist')
                elif not self._implements_point(plugin.name, point):
                    self._problems.add(path, f'plugin "{plugin.name}" does not extend {_interface(point)} plugin')
                elif plugin.name in seen:
                    self._problems.add(path, f'plugin "{plugin.name}" already registered as "{_interface(point)}"')
                seen.add(plugin.name)
        # The framework looks up multiPoint plugins at the first extension point that does not disable all ("*").
        is_open = (
            point for point in self._points if _ALL not in _plugin_names(self._profile.plugins.at(point).disabled)
        )
        interface = _interface(next(is_open, self._points[0]))
        for plugin in self._multi_point.enabled:
            if plugin.name not in self._implements:
                self._problems.add(self._multi_point_path(plugin), f'{interface} "{plugin.name}" does not exist')

    def _multi_point_path(self, plugin: PluginRef) -> str:
        written = self._profile.plugins.multi_point.enabled
        # Compared by identity: if a name is listed twice, the second entry is the invalid one.
        place = next((f".enabled[{i}]" for i, other in enumerate(written) if other is plugin), "")
        return f"{self._path}.plugins.multiPoint{place}"

    def _resolve(self, point: str) -> tuple[str, ...]:
        """Return the plugins of an extension point in running order.

        The multiPoint plugins that the point names itself come first, then the other multiPoint plugins, then the
        point's own.
        """
        plugins = self._profile.plugins.at(point)
        named, disabled = _plugin_names(plugins.enabled), _plugin_names(plugins.disabled)
        if _ALL in disabled:
            return named
        disabled += tuple(name for name, at in self._release.disabled_points if at == point)
        overridden, expanded = set(), []
        for plugin in self._multi_point.enabled:
            if not self._implements_point(plugin.name, point) or plugin.name in disabled:
                continue
            if plugin.name in named:
                overridden.add(plugin.name)
                self._warnings.append(f"MultiPoint plugin is explicitly re-configured; overriding: {plugin.name}")
            elif plugin.name in expanded:
                text = f'plugin "{plugin.name}" already registered as "{_interface(point)}"'
                self._problems.add(self._multi_point_path(plugin), text)
            else:
                expanded.append(plugin.name)
        first = [name for name in named if name in overridden]
        return (*first, *expanded, *[name for name in named if name not in overridden])

    def _check_counts(self, resolved: Mapping[str, tuple[str, ...]]) -> None:
        name, path = self._profile.scheduler_name, f"{self._path}.plugins"
        n_sorts = len(resolved[ExtensionPoint.QUEUE_SORT])
        if n_sorts != 1:
            text = f'only one queue sort plugin required for profile with scheduler name "{name}", but got {n_sorts}'
            self._problems.add(f"{path}.queueSort", text)
        if not resolved[ExtensionPoint.BIND]:
            text = f'at least one bind plugin is needed for profile with scheduler name "{name}"'
            self._problems.add(f"{path}.bind", text)
        one_generator = ExtensionPoint.PLACEMENT_FEASIBLE in self._release.absent_config_fields
        if one_generator and len(resolved.get(ExtensionPoint.PLACEMENT_GENERATE, ())) > 1:
            text = f'at most one placement generate plugin is allowed for profile with scheduler name "{name}"'
            self._problems.add(f"{path}.placementGenerate", text)

    def _weights(self, point: str) -> dict[str, int]:
        """Return the weights of all scoring plugins; the point's weight overrides multiPoint's, and 0 counts as 1."""
        weights: dict[str, int] = {}
        total = 0
        for plugin in (*self._profile.plugins.at(point).enabled, *self._multi_point.enabled):
            if plugin.name in weights or not self._implements_point(plugin.name, point):
                continue
            weight = weights[plugin.name] = plugin.weight or 1
            # In int64 arithmetic, the remaining range overflows after a negative weight, so no further weight fits.
            if weight * _MAX_NODE_SCORE > (_MAX_TOTAL_SCORE - total + 2**63) % 2**64 - 2**63:
                self._problems.add(f"{self._path}.plugins.{point}", "total score of Score plugins could overflow")
                break
            total += weight * _MAX_NODE_SCORE
        return weights


def _interface(point: str) -> str:
    return f"{point[0].upper()}{point[1:]}Plugin"


def _plugin_names(plugins: Iterable[PluginRef]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(plugin.name for plugin in plugins))
