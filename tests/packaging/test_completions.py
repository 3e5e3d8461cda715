"""The completion files and the manual page: shells and roff accept them, and they have all commands."""

import os
import pty
import re
import select
import shutil
import subprocess
import sysconfig
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kschedctl.cli.help import examples_of
from tools.commands_page import contexts, options
from tools.packaging.completions import FILES, write_completions
from tools.packaging.man_page import man_page, roff

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


WIDTH = "200"


@cache
def shown() -> str:
    """Return the page as a terminal shows it, on lines that are long enough for options and their first words."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    words = ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", f"-rLL={WIDTH}n", "-P-cbou"]
    done = subprocess.run(words, input=man_page("0.2.0"), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_it_names_the_version() -> None:
    assert shown().splitlines()[-1].startswith("kschedctl 0.2.0 ")


@pytest.mark.parametrize("context", list(contexts()), ids=lambda context: context.info_name)
def test_every_command_with_its_options_and_examples(context: Any) -> None:
    name = context.info_name
    section = re.search(rf"^   kschedctl {name}\n(.*?)^(?:   \w|\w)", shown(), re.MULTILINE | re.DOTALL)
    assert section is not None
    text = squeezed(section[1])
    assert squeezed(context.command.help) in text
    listed = list(options(context))
    assert listed
    for option in listed:
        assert re.search(rf"^       {re.escape(squeezed(option.notation))}(?: |$)", section[1], re.MULTILINE), option
        assert squeezed(option.meaning) in text, option
    for example in examples_of(name):
        assert f"           kschedctl {example.arguments}\n" in section[1], example


@pytest.mark.parametrize("text", ["It takes a \\ and - and it's done.", ".profile is read", "'node-*' matches"])
def test_texts_stay_texts(text: str) -> None:
    page = f'.TH T 1 "" "" ""\n.SH NAME\n{roff(text)}\n'
    words = ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-P-cbou"]
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(words, input=page, capture_output=True, text=True, check=True)
    assert (text in done.stdout, done.stderr) == (True, ""), done.stdout
