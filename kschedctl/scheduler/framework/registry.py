"""The plugin registry: a table of plugin classes by name."""

from collections.abc import Iterator, Mapping

from kschedctl.common.errors import ConfigError
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.config.types import ConfigStruct
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import Plugin


class Registry(Mapping[str, type[Plugin]]):
    """Plugin classes by name."""

    def __init__(self, plugins: Mapping[str, type[Plugin]] | None = None) -> None:
        self._plugins: dict[str, type[Plugin]] = dict(plugins or {})

    def __getitem__(self, name: str) -> type[Plugin]:
        return self._plugins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plugins)

    def __len__(self) -> int:
        return len(self._plugins)

    def register(self, name: str, plugin: type[Plugin]) -> None:
        """Add a plugin.

        Raises ConfigError if the name is taken.
        """
        if name in self._plugins:
            raise ConfigError(f"a plugin named {name} already exists")
        self._plugins[name] = plugin

    def unregister(self, name: str) -> None:
        """Remove a plugin.

        Raises ConfigError if there is no plugin of that name.
        """
        if name not in self._plugins:
            raise ConfigError(f"no plugin named {name} exists")
        del self._plugins[name]

    def merge(self, other: Mapping[str, type[Plugin]]) -> None:
        """Add all plugins of another table.

        Raises ConfigError if a name is taken.
        """
        for name, plugin in other.items():
            self.register(name, plugin)

    @property
    def args_types(self) -> dict[str, type[ConfigStruct]]:
        """The argument types of the plugins that declare one, by name."""
        return {name: plugin.args_type for name, plugin in self._plugins.items() if plugin.args_type is not None}

    def extension_points(self, release: Release) -> dict[str, frozenset[ExtensionPoint]]:
        """Return the extension points of each plugin that exists in the release."""
        known = {name: plugin for name, plugin in self._plugins.items() if plugin.exists_in(release)}
        return {name: plugin.extension_points(release) for name, plugin in known.items()}
