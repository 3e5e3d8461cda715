"""``kschedctl lint``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import typer

from kschedctl.cli.command import leave
from kschedctl.cli.completion import SNAPSHOT_VARIABLE, chosen_cluster, snapshot_paths
from kschedctl.cli.help import GIVEN
from kschedctl.cli.options.declared import OptionGroup, unfolded
from kschedctl.cli.options.shared import (
    ClusterOption,
    ConfigOption,
    EveryNamespaceOption,
    GatesOption,
    MaxUnpackedOption,
    VersionOption,
    feature_gates,
    max_bytes,
    namespace_option,
)
from kschedctl.cli.streams import ESCAPING, ColorWhen, ExitCode, note, open_console, tell, warn, write
from kschedctl.cli.streams import report as report_error
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Severity
from kschedctl.output.forms import FormKind, Medium, names, parse_form

if TYPE_CHECKING:
    from kschedctl.linter.run import LintRequest, LintResult
    from kschedctl.questions.lint.request import RuleChoice


# The assignment of output files to output formats.

_STDOUT: Final = "-"
_FORM_FLAGS: Final = ("-o", "--output", "--output-format")
_FILE_FLAG: Final = "--output-file"


def forms_and_files(forms: Sequence[str], files: Sequence[str], ctx: typer.Context) -> tuple[tuple[str, str], ...]:
    """Return the formats, each with its file; an empty file name means standard output.

    A file belongs to the format before it on the command line or, if there is none, to the first format after it.

    Raises typer.BadParameter if a format is unknown, or two formats have the same target.
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
    if order.count("o") != len(forms) or order.count("f") != len(files):
        # The real order is unknown: the first formats have the files.
        n_forms, n_files = len(forms), len(files)
        order = "of" * min(n_forms, n_files) + "o" * max(n_forms - n_files, 0) + "f" * max(n_files - n_forms, 0)
    for kind in order:
        if kind == "o":
            pairs.append((next(waiting_forms), early.pop(0) if early else None))
        elif pairs and pairs[-1][1] is None:
            pairs[-1] = (pairs[-1][0], next(waiting_files))
        else:
            early.append(next(waiting_files))
    if early:
        raise typer.BadParameter("there are more files than formats", param_hint=_FILE_FLAG)
    return [(form, "" if file in (None, _STDOUT) else str(file)) for form, file in pairs]


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


_RULES: Final = "KS201,KS3,..."
_NEVER: Final = "never"


class RuleOptions(OptionGroup):
    """The rules to check, and the findings that count."""

    title: ClassVar[str] = "Rules"

    select: Annotated[
        list[str] | None,
        typer.Option("--select", metavar=_RULES, help="Check only these rules, by code, prefix of a code, or name."),
    ] = None
    extend_select: Annotated[
        list[str] | None, typer.Option("--extend-select", metavar=_RULES, help="Check these rules in addition.")
    ] = None
    ignore: Annotated[list[str] | None, typer.Option("--ignore", metavar=_RULES, help="Do not check these rules.")] = (
        None
    )
    severity: Annotated[
        str, typer.Option("--severity", metavar="error|warning|info", help="Show findings of at least this severity.")
    ] = "info"
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on", metavar="error|warning|info|never", help="Exit with 1 for findings of at least this severity."
        ),
    ] = "warning"
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Same as --fail-on=never.")] = False
    no_ignores: Annotated[
        bool, typer.Option("--no-ignores", help="Disregard annotations, comments and settings that ignore findings.")
    ] = False
    settings: Annotated[
        str,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="Settings file. Default: the nearest .kschedctl.yaml, or pyproject.toml with settings, in "
            "this folder or a parent.",
            show_default=False,
        ),
    ] = ""
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline", metavar="FILE", help="File of known findings, which are not reported.", show_default=False
        ),
    ] = ""
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the current findings to the baseline.")
    ] = False

    def choice(self) -> RuleChoice:
        """Return the selection of rules.

        Raises typer.BadParameter if the severity is invalid.
        """
        from kschedctl.questions.lint.request import RuleChoice

        return RuleChoice(
            select=self.select or (),
            extend_select=self.extend_select or (),
            ignore=self.ignore or (),
            severity=severity(self.severity, "--severity"),
            ignores=not self.no_ignores,
            settings=self.settings,
            baseline=self.baseline,
            update_baseline=self.update_baseline,
        )


class FixOptions(OptionGroup):
    """The options for repairs."""

    title: ClassVar[str] = "Repairs"

    fix: Annotated[bool, typer.Option("--fix", help="Apply the repairs that do not change how pods behave.")] = False
    unsafe_fixes: Annotated[
        bool,
        typer.Option(
            "--unsafe-fixes",
            help="With --fix or --diff: include repairs that change how pods behave, or drop comments.",
        ),
    ] = False
    diff: Annotated[
        bool, typer.Option("--diff", help="Print the changes that --fix would make, without making them.")
    ] = False

    @property
    def asked(self) -> bool:
        """True if repairs are requested."""
        return self.fix or self.diff

    def check(self) -> None:
        """Check that the options are compatible.

        Raises typer.BadParameter if they are not.
        """
        if self.unsafe_fixes and not self.asked:
            raise typer.BadParameter("requires --fix or --diff", param_hint="--unsafe-fixes")
        if self.fix and self.diff:
            raise typer.BadParameter("--fix is given, too: give only one of them", param_hint="--diff")


class FormOptions(OptionGroup):
    """The output formats."""

    title: ClassVar[str] = "Output"

    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "--output-format",
            "-o",
            metavar="|".join(names(FormKind.FINDINGS)),
            help="Output format; can be given several times. Default: human, in GitHub Actions github.",
            show_default=False,
        ),
    ] = None
    output_file: Annotated[
        list[str] | None,
        typer.Option(
            "--output-file",
            metavar="FILE",
            help="File for the format named before it. Only one format can be written to standard output.",
            show_default=False,
        ),
    ] = None
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Print only the number of findings of each rule.")
    ] = False
    list_rules: Annotated[bool, typer.Option("--list-rules", help="List all rules and exit.")] = False
    color: Annotated[
        ColorWhen, typer.Option("--color", help="When to use colours. auto: on a terminal, unless NO_COLOR is set.")
    ] = ColorWhen.AUTO
    no_color: Annotated[bool, typer.Option("--no-color", help="Same as --color=never.")] = False
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 if a rule could not be decided.")] = False

    @property
    def colors(self) -> ColorWhen:
        """The use of colours.

        Raises typer.BadParameter if the options contradict each other.
        """
        if self.no_color and self.color is ColorWhen.ALWAYS:
            raise typer.BadParameter("--no-color is given, too", param_hint="--color")
        return ColorWhen.NEVER if self.no_color else self.color


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
            help="Cluster that the manifests will be applied to, for rules that need one. Default: "
            f"${SNAPSHOT_VARIABLE}, else the one of the settings.",
            show_default=False,
        ),
    ] = None,
    cluster: ClusterOption = "",
    namespace: Annotated[str, namespace_option("Namespace of objects that do not set one.")] = "",
    all_namespaces: EveryNamespaceOption = False,
    kubernetes_version: VersionOption = "",
    gates: GatesOption = None,
    config: ConfigOption = "",
    fail_zone: Annotated[
        bool,
        typer.Option(
            "--fail-zone", help="With --snapshot: check whether all pods fit without one of the zones (KS511)."
        ),
    ] = False,
    single_files: Annotated[
        bool, typer.Option("--single-files", help="Check each file independently, without the others.")
    ] = False,
    render: Annotated[
        bool,
        typer.Option(
            "--render", help="Render kustomizations and charts first, with kustomize or kubectl, and with helm."
        ),
    ] = False,
    stdin_filename: Annotated[
        str,
        typer.Option(
            "--stdin-filename",
            metavar="FILE",
            help="File name to report for standard input; for the output of helm template, the folder of the chart.",
            show_default=False,
        ),
    ] = "",
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Succeed if no object is found.")] = False,
    max_unpacked: MaxUnpackedOption = "",
    rules: RuleOptions,
    fixes: FixOptions,
    output: FormOptions,
) -> None:
    """Report problems in manifests before they are applied: pods that never schedule, rollouts and drains that hang.

    Every finding has the stage at which it takes effect: A the API server refuses the object, B it refuses the object's
    pods, C pods stay pending, D the next rollout or drain hangs. kschedctl rule KS201 shows the documentation of a
    rule. Intended exceptions are ignored by an annotation of the object (ignore.kschedctl.io/KS201: reason), a comment
    (# kschedctl: ignore KS201 reason), or the settings.

    The exit code is 0 if there is no finding of severity --fail-on or above, 1 if there is one, 2 if a path, the
    settings or the arguments are invalid or no object is found, and 3 with --strict if a rule could not be decided.
    """
    chosen = forms_and_files(output.output or (), output.output_file or (), ctx)
    colors = output.colors
    if not paths and not output.list_rules:
        raise typer.BadParameter("name files or folders, or - for standard input", param_hint="PATH")
    fixes.check()

    if output.list_rules:
        _list_rules()
        return
    choice = rules.choice()
    fail_on = None if rules.exit_zero or rules.fail_on == _NEVER else severity(rules.fail_on, "--fail-on", _NEVER)

    from kschedctl.cli.progress import TerminalHandle
    from kschedctl.questions.lint.analysis import lint as lint_manifests
    from kschedctl.questions.lint.request import ManifestChoice, lint_request

    manifests = ManifestChoice(
        paths=tuple(paths or ()),
        cluster=snapshot_paths(snapshot, live=False),
        cluster_name=chosen_cluster(cluster, snapshot),
        namespace=namespace,
        kubernetes_version=kubernetes_version,
        feature_gates=feature_gates(gates),
        config=config,
        fail_zone=fail_zone,
        single_files=single_files,
        render=render,
        stdin_name=stdin_filename,
        max_bytes=max_bytes(max_unpacked),
    )
    handle = TerminalHandle()
    request = lint_request(manifests, choice, handle)
    if choice.update_baseline and not request.baseline:
        raise typer.BadParameter("requires --baseline FILE", param_hint="--update-baseline")
    linted = lint_manifests(manifests.paths, request, handle, allow_empty=allow_empty)
    if choice.update_baseline:
        _update_baseline(linted, request.baseline)
        return
    fixed, code = 0, ExitCode.YES
    if fixes.asked:
        linted, fixed, code = _repair(linted, request, fixes)
    if output.statistics:
        _show_statistics(linted)
        raise typer.Exit(code)
    failed = fail_on is not None and linted.at_least(fail_on) > 0

    from kschedctl.cli.invocation import Invocation
    from kschedctl.questions.answer import AnswerOutcome
    from kschedctl.questions.lint.analysis import report
    from kschedctl.questions.lint.document import LintView

    medium = Medium(
        partial(open_console, colors), Invocation(command="lint", values=ctx.params, arguments={}).command_line
    )
    answer, view = report(linted, fixed), LintView(linted=linted, failed=failed, fixed=fixed)
    default = "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "human"
    for name, file in chosen or ((default, ""),):
        _write_form(parse_form(name, FormKind.FINDINGS).render(answer, view, medium), file)
    if code:
        raise typer.Exit(code)
    leave(AnswerOutcome(yes=not failed, complete=answer.complete), strict=output.strict)


def severity(text: str, flag: str, *others: str) -> Severity:
    """Parse a severity; ``others`` are further words that the option accepts.

    Raises typer.BadParameter if the text is no severity.
    """
    try:
        return Severity(text)
    except ValueError:
        known = ", ".join([*Severity, *others])
        raise typer.BadParameter(f'"{text}" is not one of {known}', param_hint=flag) from None


def _update_baseline(linted: LintResult, path: str) -> None:
    from kschedctl.common.wording import counted
    from kschedctl.linter.ignores import baseline_text
    from kschedctl.sources.snapshot.files import replace_file

    baseline = baseline_text(linted.found).encode(errors=ESCAPING)
    _write_file(path, lambda path: replace_file(path, baseline))
    tell(f"{counted(len(linted.found), 'finding')} in the baseline {path}.")


def _repair(linted: LintResult, request: LintRequest, fixes: FixOptions) -> tuple[LintResult, int, ExitCode]:
    """Repair files, or show the changes and exit; report errors and the files that were written.

    Returns: linted: the result for the files as they are then; fixed: the number of findings that were repaired;
        code: the exit code of files that cannot be written
    """
    from kschedctl.common.wording import counted
    from kschedctl.linter.applied_fixes import apply_fixes
    from kschedctl.linter.run import lint_files

    out = apply_fixes(linted, partial(lint_files, request=request), unsafe=fixes.unsafe_fixes)
    for name, target in out.links.items():
        warn(f"{name}: is not changed, as it is a link to {target}, outside of the named folders")
    if fixes.diff:
        from kschedctl.common.wording import counted

        for line in out.diff():
            write(line)
        if out.texts:
            note(f"{counted(out.count, 'finding')} in {counted(len(out.texts), 'file')} can be repaired this way")
            raise typer.Exit(ExitCode.NO)
        note("nothing to repair")
        raise typer.Exit
    try:
        errors = out.write()
    finally:
        # Also after Ctrl-C, it must be known which files were changed.
        if out.written:
            note(f"{counted(len(out.written), 'file')} repaired: {', '.join(out.written)}")
    for error in errors:
        report_error(error)
    return out.linted, out.count, ExitCode.USAGE if errors else ExitCode.YES


def _write_form(text: Iterable[str], file: str) -> None:
    """Write an answer to a file, or to standard output if no file is given."""
    if file:
        report = "".join(text).encode(errors=ESCAPING)
        _write_file(file, lambda path: Path(path).write_bytes(report))
        return
    for part in text:
        write(part)


def _write_file(path: str, write_to: Callable[[str], object]) -> None:
    try:
        write_to(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=path) from None


def _show_statistics(linted: LintResult) -> None:
    """Print the rules with findings, most findings first."""
    from kschedctl.common.wording import counted

    counts = Counter(each.rule for each in linted.found)
    for rule, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].code)):
        tell(f"{count:6}  {rule.code}  {rule.name}")
    tell(f"{len(linted.found):6} in total, of {counted(linted.n_objects, 'object')}")


def _list_rules() -> None:
    from kschedctl.linter.rules import RULES

    width = max(len(rule.name) for rule in RULES)
    for rule in RULES:
        state = rule.severity.value if rule.on else "off"
        place = rule.stop.value if rule.stop is not None else "-"
        tell(f"{rule.code}  {rule.name:{width}}  {state:7}  {place}  {rule.summary}")
