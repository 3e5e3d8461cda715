"""Progress is shown on a terminal for everything that takes longer than a second, and nowhere else."""

import io
import sys
import time

import pytest

from kschedctl.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def working(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, patience: float, until: str) -> str:
    """Return the text written during a busy period that lasts until a word appears, or 0.2 seconds without a word."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    with progress.TerminalHandle().busy("reading the snapshot"):
        end = time.monotonic() + (60 if until else 0.2)
        while time.monotonic() < end and not (until and until in stream.getvalue()):
            time.sleep(0.01)
    return stream.getvalue()


def test_a_terminal_is_told_what_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "reading the snapshot" in working(Terminal(), monkeypatch, patience=0.0, until="reading the snapshot")


def test_what_is_over_soon_needs_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    assert working(Terminal(), monkeypatch, patience=1000.0, until="") == ""


def test_a_pipe_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert working(io.StringIO(), monkeypatch, patience=0.0, until="") == ""


def test_an_interrupted_word_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)

    def interrupted() -> None:
        with progress.TerminalHandle().busy("reading"):
            end = time.monotonic() + 60
            while "reading" not in terminal.getvalue() and time.monotonic() < end:
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # The cursor is shown again.
    assert terminal.getvalue().rindex("\x1b[?25h") > terminal.getvalue().rindex("reading")
