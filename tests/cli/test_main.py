"""Errors at the top level: the exit code of each kind, and the message; also of ``python -m kschedctl``."""

import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

from kschedctl.cli import main, streams
from kschedctl.common.errors import (
    ClusterError,
    ConfigError,
    KschedctlError,
    ManifestError,
    SnapshotError,
    UnsupportedError,
)
from tests.cli.transcript import SHOP

SCRIPTS = sysconfig.get_path("scripts")


def failing(error: BaseException) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def fail() -> None:
        raise error

    return app


@pytest.fixture
def no_arguments(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr("sys.argv", ["kschedctl"])
    # What a terminal cannot show is a matter of the real streams.
    monkeypatch.setattr("sys.stdout.reconfigure", lambda **_: None, raising=False)
    monkeypatch.setattr("sys.stderr.reconfigure", lambda **_: None, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SnapshotError("is empty", where="a.yaml"), 2),
        (ManifestError("is empty"), 2),
        (ConfigError("is empty"), 2),
        (UnsupportedError("is not modelled"), 2),
        (KschedctlError("went wrong"), 2),
        (ClusterError("cannot be reached"), 3),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("ours"), 70),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_exit_codes(
    error: BaseException, code: int, no_arguments: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    no_arguments.setattr(main, "app", failing(error))
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == code
    printed = capsys.readouterr()
    assert not printed.out
    assert ("Traceback" in printed.err) == isinstance(error, ZeroDivisionError)
    if isinstance(error, KschedctlError):
        assert printed.err == f"error: {error}\n"
    if isinstance(error, ZeroDivisionError):
        assert "please report it" in printed.err


def test_reader_that_goes_away_is_no_error() -> None:
    command = f"set -o pipefail; kschedctl explain shop/web-7 --snapshot {SHOP} -o json | true"
    environment = {"PATH": f"{SCRIPTS}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_write_ends_where_nobody_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream:
        monkeypatch.setattr("sys.stdout", _Broken(stream.fileno()))
        with pytest.raises(typer.Exit) as ended:
            streams.write("text")
    assert ended.value.exit_code == 141


class _Broken:
    """A standard output whose reader is gone."""

    def __init__(self, number: int) -> None:
        self._number = number

    def write(self, _: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError

    def fileno(self) -> int:
        return self._number


@pytest.mark.parametrize("arguments", [["--help"], ["explain", "--help"], ["batch", "--help"]], ids=" ".join)
def test_help_names_the_commands_and_options(arguments: list[str]) -> None:
    for program in ("kschedctl", "kubectl-ksched"):
        done = subprocess.run([f"{SCRIPTS}/{program}", *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("Usage: ")
        assert "--help" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "printed"),
    [
        (["--version"], 0, f"kschedctl {version('kschedctl')}\n"),
        (["explain", "--nonsense"], 2, ""),
        (["explain", "a", "--snapshot", "/nowhere"], 2, ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value).strip(),
)
def test_module_is_the_command(arguments: list[str], code: int, printed: str) -> None:
    done = subprocess.run([sys.executable, "-m", "kschedctl", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, printed)
    assert not done.returncode or "error: " in done.stderr.lower()
