"""Golden files: transcripts of commands as a user types them, with their whole output and exit codes.

    # A comment.
    $ kschedctl explain web-7 -n shop
      standard output, indented by two spaces (empty lines are empty)
    ! standard error
    ? 1

Each file is a test. ``--rewrite-golden`` writes the current output.
"""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cli.in_process import AGE, Printed, run
from tests.paths import ROOT

INPUTS = Path(__file__).parent / "inputs"
SHOP = ROOT / "fixtures" / "shop" / "cluster"
VOLUMES = ROOT / "fixtures" / "volumes"
DEVICES = ROOT / "fixtures" / "devices"
PENDING = ROOT / "fixtures" / "pending"
OPTIMUM = ROOT / "fixtures" / "optimum"
POOLS = ROOT / "fixtures" / "pools"
#: The age of the shop's state.
_AGE = re.compile(r"(?<= UTC, )[0-9]+ days ago")
#: A command that needs no shell except for a pipe: its variables, arguments and input file, and the pipe's command.
_PLAIN = re.compile(r"((?:[A-Z]+=\w+ )*)kschedctl((?: [^|<>;&$`*~]+?)?)(?: < ([\w.]+))?(?: \| (.+))?")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")


@dataclass(frozen=True, slots=True)
class Step:
    """A command with its output, or a comment if ``command`` is empty."""

    comment: str = ""
    command: str = ""
    printed: tuple[str, ...] = ()


def read_transcript(text: str) -> Iterator[Step]:
    command, printed = "", list[str]()
    for line in text.splitlines():
        if line.startswith(("# ", "$ ")):
            if command:
                yield Step(command=command, printed=tuple(printed))
            command, printed = "", []
            if line.startswith("$ "):
                command = line.removeprefix("$ ")
            else:
                yield Step(comment=line)
        else:
            printed.append(line)
    if command:
        yield Step(command=command, printed=tuple(printed))


def write_transcript(steps: list[Step]) -> str:
    lines: list[str] = []
    for step in steps:
        lines += [f"$ {step.command}", *step.printed] if step.command else [step.comment]
    return "\n".join(lines) + "\n"


def make_room(folder: Path) -> None:
    """Copy the inputs and the fixture clusters into a folder."""
    shutil.copytree(INPUTS, folder, dirs_exist_ok=True)
    shutil.copytree(SHOP, folder / "shop")
    shutil.copytree(VOLUMES, folder / "volumes")
    shutil.copytree(DEVICES, folder / "devices")
    shutil.copytree(PENDING, folder / "pending")
    shutil.copytree(OPTIMUM, folder / "optimum")
    shutil.copytree(POOLS, folder / "pools")


def run_installed(command: str, folder: Path) -> tuple[str, ...]:
    """Run a command in a shell and return its output as a user with an 80-column terminal would see it in a pipe."""
    # The COV variables let coverage measure the subprocess.
    environment = _environment(folder) | {name: value for name, value in os.environ.items() if name.startswith("COV")}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    return _lines(Printed(done.returncode, _AGE.sub(AGE, done.stdout), _AGE.sub(AGE, done.stderr)))


def run_in_process(command: str, folder: Path) -> tuple[str, ...]:
    """Run a command in this process and return its output; start a shell only if the command needs it."""
    # Quoted characters have no meaning for the shell.
    plain = _PLAIN.fullmatch(_QUOTED.sub(lambda quoted: "_" * len(quoted[0]), command))
    if plain is None:
        return run_installed(command, folder)
    variables, arguments, given, reader = (command[start:end] for start, end in map(plain.span, range(1, 5)))
    environment = _environment(folder) | dict(each.split("=") for each in variables.split())
    text = (folder / given).read_bytes() if given else b""
    printed = run(*shlex.split(arguments), folder=folder, given=text, environment=environment)
    if not reader:
        return _lines(printed)
    done = subprocess.run(
        reader, shell=True, cwd=folder, env=environment, input=printed.out, capture_output=True, text=True, check=False
    )
    return _lines(Printed(done.returncode, done.stdout, printed.err + done.stderr))


def _environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": f"{sysconfig.get_path('scripts')}:/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "COLUMNS": "80",
        "KSCHEDCTL_SNAPSHOT": "shop",
    }


def _lines(printed: Printed) -> tuple[str, ...]:
    return (
        *(f"  {line}" if line else "" for line in printed.out.splitlines()),
        *(f"! {line}" for line in printed.err.splitlines()),
        *((f"? {printed.code}",) if printed.code else ()),
    )
