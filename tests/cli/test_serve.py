"""``serve`` without its extra: one line that installs it."""

import builtins
from typing import Any

import pytest

from kschedctl.common.extras import install_command
from tests.cli.in_process import run


@pytest.mark.parametrize("package", ["litestar", "uvicorn", "prometheus_client"])
def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    imported = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith("kschedctl.web.run"):
            raise ModuleNotFoundError(name=package)
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    printed = run("serve", "--snapshot", "fixtures/shop/cluster")
    assert printed.code == 2
    assert printed.err == f"error: serve needs the server\n  install it: {install_command('web')}\n"
