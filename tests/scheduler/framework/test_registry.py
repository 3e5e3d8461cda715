import pytest

from kschedctl.common.errors import ConfigError
from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.plugins.basics import NodeName
from kschedctl.scheduler.plugins.image_locality import ImageLocality
from kschedctl.scheduler.plugins.registry import ENTRY_POINT_GROUP, IN_TREE_PLUGINS, full_registry, in_tree_registry
from kschedctl.testing.contract import ContractCheck, plugin_checks

LATEST = RELEASES["1.36"]


def test_every_plugin_is_registered_under_its_own_name() -> None:
    assert all(plugin.name == name for name, plugin in in_tree_registry().items())


@pytest.mark.parametrize("version", RELEASES)
def test_every_default_plugin_of_a_release_is_registered(version: str) -> None:
    release = RELEASES[version]
    known = in_tree_registry().extension_points(release)
    assert {name for name, _ in release.default_plugins} <= set(known)


def test_registering_and_unregistering() -> None:
    registry = Registry({"NodeName": NodeName})
    registry.register("Images", ImageLocality)
    assert dict(registry) == {"NodeName": NodeName, "Images": ImageLocality}
    registry.unregister("NodeName")
    assert list(registry) == ["Images"]
    assert len(registry) == 1


def test_a_registry_does_not_change_the_table_it_was_made_of() -> None:
    registry = in_tree_registry()
    registry.unregister("NodeName")
    assert "NodeName" in IN_TREE_PLUGINS


def test_a_name_can_be_taken_only_once() -> None:
    registry = in_tree_registry()
    with pytest.raises(ConfigError, match=r"^a plugin named NodeName already exists$"):
        registry.register("NodeName", NodeName)
    with pytest.raises(ConfigError, match=r"^a plugin named NodeName already exists$"):
        registry.merge({"NodeName": NodeName})


def test_a_name_that_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(ConfigError, match=r"^no plugin named Ghost exists$"):
        in_tree_registry().unregister("Ghost")


def test_extension_points_follow_the_release() -> None:
    old, new = (in_tree_registry().extension_points(RELEASES[version]) for version in ("1.34", "1.36"))
    assert old["NodeName"] == {ExtensionPoint.FILTER}
    assert "NodeDeclaredFeatures" not in old
    assert "NodeDeclaredFeatures" in new
    assert ExtensionPoint.SCORE not in old["DynamicResources"]
    assert ExtensionPoint.SCORE in new["DynamicResources"]


class EntryPoint:
    """An installed package's plugin."""

    name = "Theirs"

    def __init__(self, loaded: object) -> None:
        self._loaded = loaded

    def load(self) -> object:
        return self._loaded


def installed(monkeypatch: pytest.MonkeyPatch, loaded: object) -> None:
    def entry_points(*, group: str) -> list[EntryPoint]:
        return [EntryPoint(loaded)] if group == ENTRY_POINT_GROUP else []

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)


def test_packages_bring_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, NodeName)
    assert full_registry()["Theirs"] is NodeName
    assert "Theirs" not in in_tree_registry()


@pytest.mark.parametrize("loaded", [object(), int])
def test_what_is_no_plugin_is_refused(loaded: object, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, loaded)
    with pytest.raises(ConfigError, match="Theirs"):
        full_registry()


@pytest.mark.parametrize(
    "check", [check for plugin in IN_TREE_PLUGINS.values() for check in plugin_checks(plugin)], ids=str
)
def test_contract(check: ContractCheck) -> None:
    check()
