"""The choice of the cluster follows kubectl's rules."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kschedctl.common.errors import ClusterError, InputError, KschedctlError
from kschedctl.common.extras import install_command
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.sources.live.reader import load_live
from kschedctl.sources.live.settings import client_settings
from tests.live.plain_server import kubeconfig


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def write(path: Path, server: str, *contexts: str) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(kubeconfig(server, *contexts)))
    return path


def test_current_context_of_the_default_file(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", "http://default", "one", "two")
    settings = client_settings(LiveContext())
    assert (settings.name, settings.configuration.host) == ("one", "http://default")


def test_context_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "other", "http://other", "one", "two")
    assert client_settings(LiveContext(kubeconfig=str(path), context="two")).name == "two"


def test_several_files_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path / "a", "http://a", "one")
    second = write(tmp_path / "b", "http://b", "two")
    monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path / 'nowhere'}:{second}")
    assert client_settings(LiveContext()).name == "one"
    assert client_settings(LiveContext(context="two")).name == "two"


def test_plugin_for_credentials_is_run(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    credentials = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "made"},
    }
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(credentials)}'\n")
    plugin.chmod(0o755)
    config = kubeconfig("http://here")
    config["users"][0]["user"] = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    }
    (tmp_path / "config").write_text(json.dumps(config))
    settings = client_settings(LiveContext(kubeconfig=str(tmp_path / "config")))
    assert settings.headers() == [("authorization", "Bearer made")]


@pytest.mark.parametrize("would_do", [True, False], ids=["a snapshot would do", "only a cluster does"])
def test_a_snapshot_is_suggested_where_one_would_do(
    would_do: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ClusterError) as caught:
        client_settings(LiveContext(snapshot_would_do=would_do))
    assert ("--snapshot" in str(caught.value), "--kubeconfig" in str(caught.value)) == (would_do, True)


@pytest.mark.parametrize(
    ("live", "error", "problem"),
    [
        (LiveContext(), ClusterError, "no cluster is configured"),
        (LiveContext(context="x"), InputError, "there is no context x: no kubeconfig was found"),
        (LiveContext(kubeconfig="nowhere"), InputError, "nowhere: --kubeconfig: there is no such file"),
        (LiveContext(kubeconfig="broken"), InputError, "broken: line 2, column 1: is not a usable kubeconfig"),
        (LiveContext(kubeconfig="empty"), InputError, "empty: is not a usable kubeconfig"),
        (LiveContext(kubeconfig="unset"), InputError, "unset: has no current context"),
        (LiveContext(kubeconfig="good", context="two"), InputError, "there is no context two\n  the contexts are one"),
    ],
    ids=[
        "nothing",
        "context without a file",
        "no file",
        "broken file",
        "empty file",
        "no current context",
        "unknown context",
    ],
)
def test_what_cannot_be_used(
    live: LiveContext, error: type[KschedctlError], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "good", "http://good", "one")
    (tmp_path / "broken").write_text("contexts: [")
    (tmp_path / "empty").write_text("")
    (tmp_path / "unset").write_text(json.dumps({**kubeconfig("http://good"), "current-context": ""}))
    with pytest.raises(error) as raised:
        client_settings(live)
    assert problem in str(raised.value)


def test_server_that_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path / "config", "http://127.0.0.1:1")
    with pytest.raises(ClusterError, match=r"http://127.0.0.1:1 cannot be reached: .*refused"):
        load_live(LiveContext(kubeconfig=str(path)))


def test_client_that_is_not_installed_is_asked_for() -> None:
    script = "import sys; sys.modules['kubernetes'] = None; sys.argv[1:] = ['verify']; "
    script += "from kschedctl.cli.main import run; run()"
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert install_command("live") in done.stderr
