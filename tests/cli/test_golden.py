"""What the installed command prints, whole, against golden files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.transcript import Step, make_room, read_transcript, run, write_transcript

FILES = sorted((Path(__file__).parent / "golden").glob("*.txt"))


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room")
    make_room(folder)
    return folder


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_commands_print_what_the_golden_file_says(file: Path, room: Path, request: pytest.FixtureRequest) -> None:
    steps = list(read_transcript(file.read_text()))
    now = [Step(command=step.command, printed=run(step.command, room)) if step.command else step for step in steps]
    if request.config.getoption("--rewrite-golden"):
        file.write_text(write_transcript(now))
    else:
        assert write_transcript(now) == write_transcript(steps)
