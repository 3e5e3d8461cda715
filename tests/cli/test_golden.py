"""The whole output of the installed command, compared with golden files."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from tests.cli.transcript import Step, make_room, read_transcript, run_in_process, run_installed, write_transcript

FILES = sorted((Path(__file__).parent / "golden").glob("*.txt"))
Runner = Callable[[str, Path], tuple[str, ...]]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room")
    make_room(folder)
    return folder


def now(file: Path, room: Path, run: Runner) -> tuple[str, str]:
    """Return a transcript with the current output, and as it is in the file."""
    steps = list(read_transcript(file.read_text()))
    printed = [Step(command=step.command, printed=run(step.command, room)) if step.command else step for step in steps]
    return write_transcript(printed), write_transcript(steps)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_commands_print_what_the_golden_file_says(file: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    make_room(tmp_path)
    if request.config.getoption("--rewrite-golden"):
        file.write_text(now(file, tmp_path, run_installed)[0])
    else:
        printed, golden = now(file, tmp_path, run_in_process)
        assert printed == golden


def first_of_each_command(files: Iterable[Path]) -> Iterator[tuple[str, Path, str]]:
    """Yield the first two commands with each subcommand in all files: ``kschedctl explain``, file and whole command.

    Those after the first that saves something are left out: they may read it.
    """
    found: Counter[str] = Counter()
    for file in files:
        commands = (step.command for step in read_transcript(file.read_text()))
        for command in takewhile(lambda each: " --save " not in each, commands):
            name = " ".join(re.findall(r"kschedctl(?: [a-z]+)?", command))
            found[name] += 1
            if name and found[name] <= 2:
                yield name, file, command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "command"),
    [pytest.param(file, command, id=f"{name}, {file.stem}") for name, file, command in first_of_each_command(FILES)],
)
def test_so_does_the_installed_command(file: Path, command: str, room: Path) -> None:
    """Few processes are enough to compare them with the runs of all commands within this process."""
    step = next(step for step in read_transcript(file.read_text()) if step.command == command)
    assert run_installed(command, room) == step.printed
