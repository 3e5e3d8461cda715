"""The completion files: each shell loads its own, and completes a command and an option."""

import os
import pty
import re
import select
import shutil
import subprocess
import sysconfig
import time
from pathlib import Path

import pytest

from tools.packaging.completions import FILES, write_completions

ENVIRONMENT = {
    **os.environ,
    "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}",
    "TERM": "dumb",
    "LC_ALL": "C.UTF-8",
}
SECONDS = 120.0


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completions")
    write_completions(folder)
    return folder


def shell(name: str, *words: str) -> str:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run([program, *words], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "candidate"), [(["exp"], "explain"), (["explain", "--kubern"], "--kubernetes-version")], ids=" ".join
)
def test_bash(files: Path, words: list[str], candidate: str) -> None:
    # What readline does: it looks up the function of the command, and calls it.
    script = (
        'source "$1"; shift; COMP_WORDS=(kschedctl "$@"); COMP_CWORD=$#; '
        "function=$(complete -p kschedctl | sed 's/.*-F \\([^ ]*\\) .*/\\1/'); "
        '"$function" kschedctl; echo "${COMPREPLY[*]}"'
    )
    assert shell("bash", "--norc", "-c", script, "bash", str(files / FILES["bash"]), *words) == f"{candidate}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "candidate"), [("kschedctl exp", "explain"), ("kschedctl explain --kubern", "--kubernetes-version")]
)
def test_fish(files: Path, line: str, candidate: str) -> None:
    script = f"source {files / FILES['fish']}; complete -C '{line}'"
    (offered,) = shell("fish", "--no-config", "-c", script).splitlines()
    assert offered.split("\t")[0] == candidate


@pytest.mark.slow
def test_zsh_from_the_first_tab_on(files: Path, tmp_path: Path) -> None:
    """A terminal, because zsh completes nothing without one; compinit finds the file in ``$fpath``."""
    program = shutil.which("zsh")
    if program is None:
        pytest.skip("zsh is not installed")
    terminal, other = pty.openpty()
    process = subprocess.Popen(
        [program, "-f", "-i"], stdin=other, stdout=other, stderr=other, env=ENVIRONMENT, start_new_session=True
    )
    os.close(other)
    try:
        started = (
            f"fpath=({files} $fpath); autoload -Uz compinit; compinit -u -d {tmp_path / 'dump'}; echo ready=$((6*7))"
        )
        os.write(terminal, f"{started}\n".encode())
        until(terminal, "ready=42")
        os.write(terminal, b"kschedctl exp\t")
        until(terminal, "kschedctl explain ")
        os.write(terminal, b"--kubern\t")
        until(terminal, "--kubernetes-version ")
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def until(terminal: int, text: str) -> None:
    """Read what the terminal shows until it has a text."""
    shown, end = "", time.monotonic() + SECONDS
    while text not in shown:
        ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{text!r} is missing in {shown!r}"
        # Without colours, and with the effect of backspaces.
        shown += os.read(terminal, 4096).decode(errors="replace")
        shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
        while "\b" in shown.lstrip("\b"):
            shown = re.sub(r"[^\b]\b", "", shown.lstrip("\b"))


@pytest.mark.slow
def test_powershell(files: Path) -> None:
    script = files / FILES["powershell"]
    program = shutil.which("pwsh")
    if program is None:
        pytest.skip("pwsh is not installed")
    line = "kschedctl exp"
    ask = f"(TabExpansion2 -inputScript '{line}' -cursorColumn {len(line)}).CompletionMatches.CompletionText"
    assert shell("pwsh", "-NoProfile", "-Command", f". '{script}'; {ask}") == "explain\n"
