"""The help of every command, the registry of commands, and the command lines of suggested next commands."""

import inspect
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from kschedctl.cli.commands import COMMANDS, GROUPS, LazyCommands, declared_command
from kschedctl.cli.help import EXAMPLES, examples_of, summary
from kschedctl.cli.invocation import Invocation
from kschedctl.cli.main import app
from kschedctl.common.options import Example
from kschedctl.questions.document import Question

PROGRAM: Any = typer.main.get_command(app)


def contexts(context: Any) -> Iterator[Any]:
    """Yield a command's context, and those of its subcommands."""
    yield context
    command = context.command
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        below = command.get_command(context, name)
        yield from contexts(below.make_context(name, [], parent=context, resilient_parsing=True))


CONTEXTS = {
    context.command_path.removeprefix("kschedctl").strip(): context
    for context in contexts(PROGRAM.make_context("kschedctl", [], resilient_parsing=True))
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_two_examples_stand_at_the_end(name: str) -> None:
    shown = CONTEXTS[name].get_help().partition("\nExamples:\n")[2]
    assert len(examples_of(name)) == 2
    assert [line.strip() for line in shown.splitlines() if line.startswith("    kschedctl ")] == [
        f"kschedctl {example.arguments}" for example in examples_of(name)
    ]


def test_a_program_of_several_words_has_the_same_help() -> None:
    program = PROGRAM.make_context("python -m kschedctl", [], resilient_parsing=True)
    shown = {context.command_path: context.get_help() for context in contexts(program)}
    assert all("\nExamples:\n" in text for text in shown.values())
    assert "python -m kschedctl drain" in shown


@pytest.mark.parametrize(
    "example", [each for name in CONTEXTS for each in examples_of(name)], ids=lambda each: each.arguments
)
def test_examples_are_commands(example: Example) -> None:
    words = shlex.split(example.arguments.partition(" < ")[0])
    context = PROGRAM.make_context("kschedctl", words)
    while rest := [*getattr(context, "_protected_args", ()), *context.args]:
        name, command, rest = context.command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    assert context.command_path != "kschedctl"


def test_examples_are_of_commands() -> None:
    assert set(EXAMPLES) <= set(CONTEXTS)


@pytest.mark.parametrize("name", CONTEXTS)
def test_options_that_can_be_given_several_times_say_so(name: str) -> None:
    context = CONTEXTS[name]
    words = " ".join(context.get_help().split())
    several = [each for each in context.command.params if each.param_type_name == "option" and each.multiple]
    assert words.count("Repeatable.") == len(several)


@pytest.mark.parametrize("name", CONTEXTS)
def test_no_description_is_cut_off(name: str) -> None:
    context = CONTEXTS[name]
    told = unbroken(context.get_help())
    command = context.command
    below = command.list_commands(context) if hasattr(command, "list_commands") else ()
    for other in below:
        assert unbroken(command.get_command(context, other).help.strip().splitlines()[0]) in told
    for option in command.params:
        assert unbroken(option.help or "") in told


def unbroken(text: str) -> str:
    """Return a text without whitespace, as words may be broken at hyphens."""
    return "".join(text.split())


def test_options_stand_in_groups() -> None:
    shown = CONTEXTS["explain"].get_help()
    headings = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Pods:", "Cluster:", "What-ifs:", "Output:", "Only in explain:", "Examples:"]


@pytest.mark.parametrize("name", COMMANDS)
def test_entry_is_what_the_command_declares(name: str) -> None:
    declared = declared_command(name)
    assert (name in GROUPS) == isinstance(declared, typer.Typer)
    answer: Callable[..., None] | None
    if isinstance(declared, typer.Typer):
        assert declared.registered_callback is not None
        answer = declared.registered_callback.callback
    else:
        answer = declared
    assert answer is not None
    assert answer.__name__ == name
    assert COMMANDS[name] == summary(inspect.getdoc(answer) or "")


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_built_from_its_entry(name: str) -> None:
    command = LazyCommands()[name]
    assert command.name == name
    assert summary(command.help) == COMMANDS[name]
    assert hasattr(command, "commands") == (name in GROUPS)


def test_unknown_names_have_no_command() -> None:
    commands = LazyCommands()
    assert "nonsense" not in commands
    assert set(commands) == set(COMMANDS)
    assert len(commands) == len(COMMANDS)


@pytest.mark.parametrize(
    ("values", "question", "line"),
    [
        pytest.param(
            {"nodes": ["n1"]},
            Question("", "drain", options={"place_pending_first": True}),
            "kschedctl drain n1 --place-pending-first",
            id="a further option",
        ),
        pytest.param(
            {"nodes": ["n1"], "place_pending_first": True},
            Question("", "drain", options={"place_pending_first": True}),
            "",
            id="an option that was given",
        ),
        pytest.param(
            {"nodes": ["n1"]},
            Question("", "drain", options={"output": "wide"}),
            "kschedctl drain n1 -o wide",
            id="wide",
        ),
        pytest.param({"nodes": ["n1"]}, Question("", "simulate"), "kschedctl simulate", id="another command"),
    ],
)
def test_the_command_that_was_run_is_not_suggested(values: dict[str, Any], question: Question, line: str) -> None:
    assert Invocation(command="drain", values=values, arguments={}).command_line(question) == line
