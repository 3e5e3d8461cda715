import pytest

from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS
from kschedctl.testing.contract import ContractCheck, plugin_checks


@pytest.mark.parametrize(
    "check", [check for plugin in IN_TREE_PLUGINS.values() for check in plugin_checks(plugin)], ids=str
)
def test_contract(check: ContractCheck) -> None:
    check()
