"""Which plugins there are: one table of names and classes, and what it takes to add to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kschedctl.errors import ConfigError
from kschedctl.framework.config.types import ConfigStruct
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.interface import Plugin
from kschedctl.releases.release import Release


class Registry(Mapping[str, type[Plugin]]):
    """Plugin classes by name.

    Parameters
    ----------
    plugins : mapping of str to type
        The plugins to begin with.
    """

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

        Raises
        ------
        ConfigError
            Where the name is taken.
        """
        if name in self._plugins:
            raise ConfigError(f"a plugin named {name} already exists")
        self._plugins[name] = plugin

    def unregister(self, name: str) -> None:
        """Take a plugin out.

        Raises
        ------
        ConfigError
            Where there is none of that name.
        """
        if name not in self._plugins:
            raise ConfigError(f"no plugin named {name} exists")
        del self._plugins[name]

    def merge(self, other: Mapping[str, type[Plugin]]) -> None:
        """Add all plugins of another table.

        Raises
        ------
        ConfigError
            Where a name is taken.
        """
        for name, plugin in other.items():
            self.register(name, plugin)

    @property
    def args_types(self) -> dict[str, type[ConfigStruct]]:
        """What the arguments of plugins are read as that say so themselves."""
        return {name: plugin.args_type for name, plugin in self._plugins.items() if plugin.args_type is not None}

    def extension_points(self, release: Release) -> dict[str, frozenset[ExtensionPoint]]:
        """Where each plugin that a release knows takes part."""
        known = {name: plugin for name, plugin in self._plugins.items() if plugin.exists_in(release)}
        return {name: plugin.extension_points(release) for name, plugin in known.items()}
