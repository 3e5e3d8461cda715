"""The manual page ``kschedctl.1``, made from the declarations of the commands."""

import re
from collections.abc import Iterator
from typing import Any, Final

from kschedctl.cli.help import examples_of
from kschedctl.cli.main import app
from tools.commands_page import contexts, options

#: A line that begins with one of these is a request.
_REQUESTS: Final = (".", "'")


def man_page(version: str) -> str:
    """Return the page, in the man macros of roff.

    Parameters
    ----------
    version : str
        The version of the program, for the footer.
    """
    lines = [
        f'.TH KSCHEDCTL 1 "" "kschedctl {roff(version)}" "User Commands"',
        # Commands and options are copied from the page: no hyphenation, no adjusted lines.
        ".nh",
        ".ad l",
        ".SH NAME",
        "kschedctl \\- explain what kube\\-scheduler would do with a pod, and why",
        ".SH SYNOPSIS",
        ".B kschedctl",
        ".I COMMAND",
        "[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]",
        ".br",
        ".B kubectl ksched",
        ".I COMMAND",
        "[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        *_paragraphs(str(app.info.help)),
        ".SH COMMANDS",
    ]
    for context in contexts():
        lines += _command(context)
    lines += [".SH EXIT STATUS", *_paragraphs(str(app.info.epilog))]
    lines += [
        ".SH ENVIRONMENT",
        ".TP",
        ".B KSCHEDCTL_SNAPSHOT",
        "The snapshot that is read if no option names one.",
        ".TP",
        ".B KUBECONFIG",
        "The kubeconfig files, as for kubectl.",
        ".SH SEE ALSO",
        ".BR kubectl (1)",
    ]
    return "\n".join(lines) + "\n"


def _command(context: Any) -> Iterator[str]:
    """Yield the subsection of a command."""
    name = context.info_name
    yield f".SS kschedctl {roff(name)}"
    yield f".B kschedctl {roff(name)}"
    yield roff(" ".join(context.command.collect_usage_pieces(context)))
    yield ".PP"
    yield from _paragraphs(context.command.help)
    group = ""
    for option in options(context):
        if option.group and option.group != group:
            yield from (".PP", f"{roff(option.group)}:")
        group = option.group
        yield from (".TP", f"\\fB{roff(option.notation)}\\fR", roff(option.meaning))
    for example in examples_of(name):
        # The name is that of the program, also if the page is made by another.
        yield from (".PP", roff(example.what), ".PP", ".RS 4", ".nf", f"kschedctl {roff(example.arguments)}", ".fi")
        yield ".RE"


def _paragraphs(text: str) -> Iterator[str]:
    """Yield a text of one or several paragraphs."""
    for i, paragraph in enumerate(text.strip().split("\n\n")):
        if i:
            yield ".PP"
        yield roff(paragraph)


def roff(text: str) -> str:
    """Return a text on one line, in which roff finds no request, escape or typographic hyphen."""
    plain = re.sub(r"[\\-]", lambda found: "\\e" if found[0] == "\\" else "\\-", " ".join(text.split()))
    return f"\\&{plain}" if plain.startswith(_REQUESTS) else plain
