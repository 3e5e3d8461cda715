"""The command that installs an extra, by the place that the package was installed from."""

import pytest

from kschedctl.common.extras import install_command


class Installed:
    """A distribution with this ``direct_url.json``."""

    def __init__(self, direct_url: str | None) -> None:
        self.direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.direct_url


@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        pytest.param(None, "pip install 'kschedctl[live]'", id="an index"),
        pytest.param('{"url": "file:///src/k", "dir_info": {}}', "pip install '/src/k[live]'", id="a folder"),
        pytest.param(
            '{"url": "file:///my%20src/k", "dir_info": {"editable": true}}',
            "pip install --editable '/my src/k[live]'",
            id="an editable folder, with a space",
        ),
        pytest.param(
            '{"url": "https://git.example.com/k.git", "vcs_info": {"vcs": "git", "commit_id": "4be1"}}',
            "pip install 'kschedctl[live] @ git+https://git.example.com/k.git@4be1'",
            id="a repository",
        ),
        pytest.param(
            '{"url": "https://example.com/k.whl", "archive_info": {}}',
            "pip install 'kschedctl[live] @ https://example.com/k.whl'",
            id="an archive",
        ),
    ],
)
def test_install_command(monkeypatch: pytest.MonkeyPatch, direct_url: str | None, command: str) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(direct_url))
    assert install_command("live") == command
