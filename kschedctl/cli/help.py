"""Help in sections, with examples; it is written like answers, so that a closed pipe is no error."""

import shlex
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

from kschedctl.cli.streams import write
from kschedctl.cli.values import read_plainly
from kschedctl.common.options import Example
from kschedctl.common.text.characters import printable
from kschedctl.common.text.patterns import pattern

# Two examples per command, which are printed at the end of its help.


#: The examples of commands that are no questions; the empty name is the program itself.
EXAMPLES: Final[Mapping[str, tuple[Example, ...]]] = {
    "": (
        Example("Explain why a pod is pending in the cluster of the current kubectl context:", "explain shop/web-7"),
        Example("Explain a manifest against a snapshot:", "explain -f web.yaml --snapshot prod.tar.gz"),
    ),
    "sweep": (
        Example(
            "Answer all cases of a plan, and save the results so that the run can be resumed:",
            "sweep plan.yaml --results r.jsonl",
        ),
        Example("Print the scheduler configuration of case 17:", "sweep plan.yaml --config-of 17"),
    ),
    "watch": (
        Example("Report pending pods of all namespaces, and why, until interrupted:", "watch -A"),
        Example(
            "Write Events on the pods, from one of several replicas:",
            "watch -A --events --leader-elect --lease kube-system/kschedctl-watch --metrics :8080 -o jsonl",
        ),
    ),
    "serve": (
        Example("Serve the cluster of the current kubectl context at http://127.0.0.1:8080/:", "serve"),
        Example(
            "Serve a snapshot to others, who need the token in a file:",
            "serve --snapshot prod.tar.gz --host 0.0.0.0 --token-file token --allowed-host ksched.example.com",
        ),
    ),
    "mcp": (
        Example("Answer an assistant's questions about the cluster of a kubectl context:", "mcp --context prod"),
        Example("Answer questions about a snapshot, compared with another:", "mcp --snapshot today --compare before"),
    ),
    "leader": (
        Example("Show all leaders, and when another candidate would take over:", "leader"),
        Example(
            "Check whether a scheduler's configuration matches its Lease:",
            "leader --snapshot prod.tar.gz --config scheduler.yaml",
        ),
    ),
    "leader run": (
        Example("Run one copy of a program at a time:", "leader run --lease shop/report -- ./report --forever"),
        Example(
            "Fail over within ten seconds after a crash:",
            "leader run --lease shop/report --lease-duration 5s --renew-deadline 2s --retry-period 500ms "
            "--grace-period 1s -- ./report",
        ),
    ),
    "leader simulate": (
        Example(
            "Simulate a crash of the leader, then a network partition of the next one:",
            "leader simulate --crash 20s --partition 40s-70s",
        ),
        Example(
            "Find times for a fail-over within 10 seconds, with a clock drift of 1 %:",
            "leader simulate --fail-over 10s --clock-drift 1%",
        ),
    ),
    "diff": (
        Example("Show what changes if some nodes are drained:", "diff -A --drain 'node-*'"),
        Example(
            "Show what another release decides differently:",
            "diff -A --all-pods --snapshot prod.tar.gz --kubernetes-version 1.37..1.38",
        ),
    ),
    "lint": (
        Example("Check the manifests in a folder:", "lint deploy/"),
        Example(
            "Check manifests against a cluster, and write a SARIF log for code scanning:",
            "lint deploy/ --snapshot prod.tar.gz -o human -o sarif --output-file lint.sarif",
        ),
    ),
    "rule": (
        Example("Show the documentation of a rule:", "rule KS201"),
        Example("List all rules with a prefix:", "rule KS3"),
    ),
    "batch": (
        Example("Decide the cases of a file on all cores:", "batch cases.jsonl.gz"),
        Example(
            "Decide cases from standard input by the rules of one release:",
            "batch - --kubernetes-version 1.35 < cases.jsonl",
        ),
    ),
    "snapshot": (
        Example("Write a snapshot of the cluster of the current kubectl context:", "snapshot -o prod.tar.gz"),
        Example("Write an anonymised snapshot for a bug report:", "snapshot -o report.tar.gz --anonymize"),
    ),
    "snapshot info": (
        Example("Show what a snapshot contains:", "snapshot info prod.tar.gz"),
        Example("Show what several files contain, as JSON:", "snapshot info prod.tar.gz prod-version.json -o json"),
    ),
}


# Suggested command lines, quoted so that pasting them into a shell runs exactly the suggested command.

#: The characters besides letters and digits that need no escape in a printf format.
_PLAIN: Final = "-._/:="


def command_line(*words: str) -> str:
    r"""Return a command line of this program, in the way the user calls it, ready to be pasted into a shell.

    A word with invisible characters is written as a call of ``printf``, which every POSIX shell has; a newline at the
    end of such a word is lost.

    >>> print(command_line("explain", "shop/web 1", "--node", "n1; touch x #"))
    kschedctl explain 'shop/web 1' --node 'n1; touch x #'
    >>> print(command_line("explain", "web\x1b[2J"))
    kschedctl explain "$(printf 'web\033\1332J')"
    """
    return " ".join([program(), *map(_quoted, words)])


def program() -> str:
    """Return the way the user calls the program: as a kubectl plugin or by its own name."""
    name = Path(sys.argv[0]).name
    return "kubectl ksched" if name.startswith("kubectl-") else "kschedctl"


def _quoted(word: str) -> str:
    if printable(word) == word:
        return shlex.quote(word)
    # Paths may contain bytes that are not valid UTF-8.
    letters = (chr(byte) for byte in word.encode(errors="surrogateescape"))
    spelled = "".join(c if c.isascii() and (c.isalnum() or c in _PLAIN) else f"\\{ord(c):03o}" for c in letters)
    return f"\"$(printf '{spelled}')\""


# The layout of the help sections. Typer's own rich help would take more time than everything else in the help.
#
# Typer either has its own copy of Click or uses the installed one, so contexts and formatters have no single type.

_REPEATABLE: Final = "Repeatable."


def write_options(command: Any, context: Any, formatter: Any) -> None:
    """Write arguments and options in the order of their groups; options without a group come last."""
    sections: dict[str, list[tuple[str, str]]] = defaultdict(list)
    own = []
    for parameter in sorted(command.get_params(context), key=lambda each: each.param_type_name != "argument"):
        record = option_record(parameter, context)
        group = getattr(parameter, "rich_help_panel", None)
        if record is not None and group:
            sections[group].append(record)
        elif record is not None:
            own.append(record)
    title = f"Only in {context.info_name}" if sections else "Options"
    for name, records in {**sections, title: own}.items():
        with formatter.section(name):
            formatter.write_dl(records)


def write_examples(context: Any, formatter: Any) -> None:
    """Write the examples of a command, each on one line that can be copied."""
    # The program itself can be several words: python -m kschedctl.
    path = context.command_path.removeprefix(context.find_root().command_path).strip()
    with formatter.section("Examples"):
        for example in examples_of(path):
            formatter.write_text(example.what)
            with formatter.indentation():
                # A wrapped command cannot be copied.
                line = f"{program()} {example.arguments}"
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def examples_of(command: str) -> tuple[Example, ...]:
    """Return the examples of a command, such as ``leader simulate``; those of a question are in its request."""
    if command in EXAMPLES:
        return EXAMPLES[command]
    # The help of a command has imported its request already.
    from kschedctl.questions.request import request_of

    return request_of(command).examples


def option_record(parameter: Any, context: Any) -> tuple[str, str] | None:
    """Return the notation of a parameter and its help text."""
    record = parameter.get_help_record(context)
    if record is None:
        return None
    written, meaning = record
    if parameter.param_type_name == "argument":
        several = "..." if parameter.nargs == -1 and not parameter.metavar.endswith("...") else ""
        return f"{parameter.metavar}{several}", meaning
    return written, f"{meaning} {_REPEATABLE}" if parameter.multiple else meaning


def summary(text: str) -> str:
    """Return the first sentence of a text, at most its first paragraph."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    sentence, dot, _ = paragraph.partition(". ")
    return sentence + dot.strip()


# The raw arguments of a command, for options whose order on the command line matters.

#: The key of the raw arguments in the ``meta`` dict of a command's context.
GIVEN: Final = "kschedctl.given"
_SHORT: Final = pattern(r"-[A-Za-z]")


def _split(argument: str, short: Mapping[str, Any]) -> tuple[str, ...]:
    """Split a short option with its value after an equals sign as kubectl reads it: ``-n=shop``, ``-A=true``."""
    name, equals, value = argument.partition("=")
    option = short.get(name) if equals else None
    if option is None:
        return (argument,)
    if not option.is_flag:
        return name, value
    return {"true": (name,), "false": ()}.get(value, (argument,))


def _show(context: Any, _parameter: Any, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        write(f"{context.get_help()}\n")
        context.exit()


def _written(option: Any) -> Any:
    if option is not None:
        option.callback = _show
    return option


class _Sections:
    """The common part of commands and groups: plain values, a help that is written, and examples."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [read_plainly(each) for each in super().get_params(ctx)]  # type: ignore[misc]

    def get_help_option(self, ctx: Any) -> Any:
        return _written(super().get_help_option(ctx))  # type: ignore[misc]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, then the epilog."""
        write_examples(ctx, formatter)
        super().format_epilog(ctx, formatter)  # type: ignore[misc]


class Command(_Sections, TyperCommand):
    """A command whose help has sections and examples."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and store them in their original order in ``ctx.meta``."""
        end = args.index("--") if "--" in args else len(args)
        short = {name: each for each in self.get_params(ctx) for name in each.opts if _SHORT.fullmatch(name)}
        args = [*(part for each in args[:end] for part in _split(each, short)), *args[end:]]
        ctx.meta[GIVEN] = tuple(args)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the options and arguments as they are typed: ``[POD]...``, and ``RULE...`` where one is required."""
        arguments = [each for each in self.get_params(ctx) if each.param_type_name == "argument"]
        names = [f"{(each.metavar or str(each.name)).removesuffix('...')}" for each in arguments]
        return [
            "[OPTIONS]",
            *(
                f"{name if each.required else f'[{name}]'}{'...' if each.nargs == -1 else ''}"
                for name, each in zip(names, arguments, strict=True)
            ),
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, group by group."""
        write_options(self, ctx, formatter)


class CommandGroup(_Sections, TyperGroup):
    """A command with subcommands whose help has sections and examples."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, group by group, then the subcommands."""
        write_options(self, ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([*self.summaries(ctx).items()])

    def summaries(self, context: Any) -> Mapping[str, str]:
        """Return the first sentence of the help of each subcommand, by name."""
        return {name: summary(command.help or "") for name, command in self.commands.items()}
