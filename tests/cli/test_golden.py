"""The whole output of the installed command, compared with golden files."""

import re
from collections.abc import Callable, Iterable
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


def first_of_each_command(steps: Iterable[Step]) -> list[Step]:
    """Return the first step of each subcommand, such as ``kschedctl explain``, and those that save what others read."""
    every = [*steps]
    found = {" ".join(re.findall(r"kschedctl(?: [a-z]+)?", step.command)): step for step in reversed(every)}
    wanted = [step for name, step in found.items() if name]
    return [step for step in every if step in wanted or " --save " in step.command]


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_commands_print_what_the_golden_file_says(file: Path, room: Path, request: pytest.FixtureRequest) -> None:
    """The other test runs every command; one process per subcommand and file is enough to compare processes with it."""
    if request.config.getoption("--rewrite-golden"):
        file.write_text(now(file, room, run_installed)[0])
    for step in first_of_each_command(read_transcript(file.read_text())):
        assert run_installed(step.command, room) == step.printed, step.command


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_so_they_do_within_this_process(file: Path, tmp_path: Path) -> None:
    make_room(tmp_path)
    printed, golden = now(file, tmp_path, run_in_process)
    assert printed == golden
