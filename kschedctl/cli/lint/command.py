"""``kschedctl lint``: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from kschedctl.cli.lint.forms import FORM_NAMES, forms_and_files
from kschedctl.cli.options.group import OptionGroup, unfolded
from kschedctl.cli.options.shared import (
    ConfigOption,
    MaxUnpackedOption,
    VersionOption,
    namespace_option,
)
from kschedctl.cli.terminal import ColorWhen

_RULES = "KS201,KS3,..."


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOptions(OptionGroup):
    """Which rules are asked, and which of their findings count."""

    title: ClassVar[str] = "Which rules"

    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select", metavar=_RULES, help="Ask these and no others, by code, beginning of a code, or name."
        ),
    ] = None
    extend_select: Annotated[
        list[str] | None, typer.Option("--extend-select", metavar=_RULES, help="Ask these besides.")
    ] = None
    ignore: Annotated[list[str] | None, typer.Option("--ignore", metavar=_RULES, help="Do not ask these.")] = None
    severity: Annotated[
        str, typer.Option("--severity", metavar="error|warning|info", help="Show nothing that is less bad.")
    ] = "info"
    fail_on: Annotated[
        str,
        typer.Option("--fail-on", metavar="error|warning|info|never", help="Exit with 1 from this severity on."),
    ] = "warning"
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="The same as --fail-on=never.")] = False
    no_ignores: Annotated[
        bool, typer.Option("--no-ignores", help="Take no notice of annotations, comments and settings that ignore.")
    ] = False
    settings: Annotated[
        str,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="The settings. Default: the nearest .kschedctl.yaml, or pyproject.toml with them, upward.",
            show_default=False,
        ),
    ] = ""
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="Findings that count no more, as they were there before.",
            show_default=False,
        ),
    ] = ""
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the findings of now to the baseline.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions(OptionGroup):
    """Repairs."""

    title: ClassVar[str] = "Repairs"

    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be repaired without changing how pods behave.")
    ] = False
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="With --fix or --diff: repairs that change how pods behave, too.")
    ] = False
    diff: Annotated[bool, typer.Option("--diff", help="Print what --fix would change, and change nothing.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOptions(OptionGroup):
    """The forms of the answer."""

    title: ClassVar[str] = "Output"

    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "--output-format",
            "-o",
            metavar="|".join(FORM_NAMES),
            help="The form of the answer; may be given several times. Default: human, in GitHub Actions github.",
            show_default=False,
        ),
    ] = None
    output_file: Annotated[
        list[str] | None,
        typer.Option(
            "--output-file",
            metavar="FILE",
            help="Where the form named before it is written. One of several forms may go to standard output.",
            show_default=False,
        ),
    ] = None
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Say how many findings each rule has, and nothing else.")
    ] = False
    list_rules: Annotated[bool, typer.Option("--list-rules", help="Name all rules and exit.")] = False
    color: Annotated[
        ColorWhen, typer.Option("--color", help="When to use colours. auto: on a terminal, without NO_COLOR.")
    ] = ColorWhen.AUTO
    no_color: Annotated[bool, typer.Option("--no-color", help="The same as --color=never.")] = False
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 where a rule could not be decided.")] = False


@unfolded
def lint(
    *,
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Manifests: files, folders, archives, or - for standard input."),
    ] = None,
    snapshot: Annotated[
        list[str] | None,
        typer.Option(
            "--snapshot",
            metavar="PATH",
            help="The cluster that they will be applied to, for rules that need one.",
            show_default=False,
        ),
    ] = None,
    namespace: Annotated[str, namespace_option("The namespace of objects that name none.")] = "",
    kubernetes_version: VersionOption = "",
    config: ConfigOption = "",
    fail_zone: Annotated[
        bool, typer.Option("--fail-zone", help="With --snapshot: ask whether all fit without one of the zones (KS511).")
    ] = False,
    single_files: Annotated[
        bool, typer.Option("--single-files", help="Look at each file by itself, as if the others were not given.")
    ] = False,
    stdin_filename: Annotated[
        str,
        typer.Option("--stdin-filename", metavar="FILE", help="What standard input is called.", show_default=False),
    ] = "",
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Let it pass where no object is found.")] = False,
    max_unpacked: MaxUnpackedOption = "",
    rules: RuleOptions,
    fixes: FixOptions,
    output: FormOptions,
) -> None:
    """Say what is wrong in manifests before they are applied: pods that never schedule, rollouts and drains that hang.

    Every finding says where it stops: A the API server refuses the object, B it refuses its pods, C pods wait, D the
    next rollout or drain hangs. kschedctl rule KS201 has a rule's page. What is on purpose is ignored by an annotation
    of the object (ignore.kschedctl.io/KS201: reason), a comment (# kschedctl: ignore KS201 reason), or the settings.

    The exit code is 0 where nothing as bad as --fail-on is found, 1 where something is, 2 where a path, the settings or
    the arguments are wrong or no object is found, and 3 with --strict where a rule could not be decided.
    """
    chosen = forms_and_files(output.output or (), output.output_file or (), ctx)
    if output.no_color and output.color is ColorWhen.ALWAYS:
        raise typer.BadParameter("--no-color is given as well", param_hint="--color")
    if not paths and not output.list_rules:
        raise typer.BadParameter("name files or folders, or - for standard input", param_hint="PATH")
    if fixes.unsafe_fixes and not (fixes.fix or fixes.diff):
        raise typer.BadParameter("goes with --fix or --diff", param_hint="--unsafe-fixes")
    if fixes.fix and fixes.diff:
        raise typer.BadParameter("--fix is given as well: give one or the other", param_hint="--diff")

    from kschedctl.cli.lint.run import Asked, run

    run(
        Asked(
            paths=tuple(paths or ()),
            snapshot=tuple(snapshot or ()),
            namespace=namespace,
            kubernetes_version=kubernetes_version,
            config=config,
            fail_zone=fail_zone,
            single_files=single_files,
            stdin_filename=stdin_filename,
            allow_empty=allow_empty,
            max_unpacked=max_unpacked,
            rules=rules,
            fixes=fixes,
            output=output,
            forms=chosen,
        )
    )
