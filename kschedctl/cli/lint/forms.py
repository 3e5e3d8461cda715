"""The assignment of output files to output formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import typer

from kschedctl.cli.raw_arguments import GIVEN
from kschedctl.output.form import FormKind
from kschedctl.output.forms import names

_STDOUT: Final = "-"
_FORM_FLAGS: Final = ("-o", "--output", "--output-format")
_FILE_FLAG: Final = "--output-file"


def forms_and_files(forms: Sequence[str], files: Sequence[str], ctx: typer.Context) -> tuple[tuple[str, str], ...]:
    """Return the formats, each with its file; an empty file name means standard output.

    A file belongs to the format before it on the command line or, if there is none, to the first format after it.

    Raises
    ------
    typer.BadParameter
        If a format is unknown, or two formats have the same target.
    """
    known = names(FormKind.FINDINGS)
    for form in forms:
        if form not in known:
            raise typer.BadParameter(f'"{form}" is not one of {", ".join(known)}', param_hint="--output")
    if not files:
        pairs = [(form, "") for form in forms]
    elif not forms:
        raise typer.BadParameter("requires --output", param_hint=_FILE_FLAG)
    else:
        pairs = _paired(forms, files, _order(ctx))
    places = [file for _, file in pairs]
    if places.count("") > 1:
        raise typer.BadParameter(
            "only one format can be written to standard output: give --output-file", param_hint="--output"
        )
    twice = next((file for file in places if places.count(file) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"two formats are written to {twice}", param_hint=_FILE_FLAG)
    return tuple(pairs)


def _paired(forms: Sequence[str], files: Sequence[str], order: str) -> list[tuple[str, str]]:
    """Pair formats and files by their order on the command line: ``o`` is a format, ``f`` a file."""
    waiting_forms, waiting_files = iter(forms), iter(files)
    pairs: list[tuple[str, str | None]] = []
    early: list[str] = []
    for kind in order if order.count("o") == len(forms) and order.count("f") == len(files) else _default(forms, files):
        if kind == "o":
            pairs.append((next(waiting_forms), early.pop(0) if early else None))
        elif pairs and pairs[-1][1] is None:
            pairs[-1] = (pairs[-1][0], next(waiting_files))
        else:
            early.append(next(waiting_files))
    if early:
        raise typer.BadParameter("there are more files than formats", param_hint=_FILE_FLAG)
    return [(form, "" if file in (None, _STDOUT) else str(file)) for form, file in pairs]


def _default(forms: Sequence[str], files: Sequence[str]) -> str:
    """Return the order that is assumed if the real one is unknown: the first formats have the files."""
    return (
        "of" * min(len(forms), len(files))
        + "o" * max(len(forms) - len(files), 0)
        + "f" * max(len(files) - len(forms), 0)
    )


def _order(ctx: Any) -> str:
    order = ""
    words: Sequence[str] = ctx.meta.get(GIVEN, ())
    for word in words:
        if word == "--":
            break
        flag = word.partition("=")[0]
        if flag == _FILE_FLAG:
            order += "f"
        elif flag in _FORM_FLAGS or (word.startswith("-o") and len(word) > 2):
            order += "o"
    return order
