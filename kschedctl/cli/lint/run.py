"""What ``lint`` does once its options are read: settings, rules, findings, repairs, and the forms of the answer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kschedctl.api.wording import counted, listed
from kschedctl.cli.exit_code import ExitCode
from kschedctl.cli.lint.command import FixOptions, FormOptions, RuleOptions
from kschedctl.cli.options.shared import max_bytes
from kschedctl.cli.shell import command_line
from kschedctl.cli.streams import note, stdin, tell, warn, write
from kschedctl.cli.terminal import ColorWhen, open_console
from kschedctl.errors import InputError
from kschedctl.findings.finding import Severity
from kschedctl.lint.given import GivenSet
from kschedctl.lint.reading import LintFile
from kschedctl.lint.rule import Rule
from kschedctl.lint.rules import RULES
from kschedctl.lint.run import Linted, LintOptions, lint, lint_files
from kschedctl.lint.selection import asked
from kschedctl.lint.settings import Settings, chosen_settings
from kschedctl.releases.choice import choose_release
from kschedctl.releases.release import Release
from kschedctl.report.lint.form import Run
from kschedctl.report.lint.forms import form

if TYPE_CHECKING:
    from kschedctl.lint.against import Against
    from kschedctl.lint.fixing import Repaired

_NEVER = "never"
_STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of a run, read."""

    paths: tuple[str, ...]
    snapshot: tuple[str, ...]
    namespace: str
    kubernetes_version: str
    config: str
    fail_zone: bool
    single_files: bool
    stdin_filename: str
    allow_empty: bool
    max_unpacked: str
    rules: RuleOptions
    fixes: FixOptions
    output: FormOptions
    forms: tuple[tuple[str, str], ...]


def run(given: Asked) -> None:
    """Lint, and end with the exit code.

    Raises
    ------
    typer.Exit
        With 1 where something was found, and with 3 where something could not be decided and that is asked for.
    KschedctlError
        Where paths, settings or a baseline are wrong, or nothing is there to lint.
    """
    if given.output.list_rules:
        _list_rules()
        return
    least = _severity(given.rules.severity, "--severity")
    fail_on = (
        None
        if given.rules.exit_zero or given.rules.fail_on == _NEVER
        else _severity(given.rules.fail_on, "--fail-on", _NEVER)
    )
    settings = chosen_settings(given.rules.settings, given.paths)
    options, against = _options(given, settings, least)
    if given.rules.update_baseline and not options.baseline:
        raise typer.BadParameter("goes with --baseline FILE", param_hint="--update-baseline")
    if options.baseline and not given.rules.update_baseline and not Path(options.baseline).exists():
        hint = "kschedctl lint --baseline FILE --update-baseline writes it"
        raise InputError("there is no such baseline", where=options.baseline, hint=hint)
    linted = lint(given.paths, options, stdin() if _STDIN in given.paths else None, against)
    for what in linted.unread:
        warn(what)
    _need_objects(linted, given)
    if given.rules.update_baseline:
        _update_baseline(linted, options.baseline)
        return
    fixed = 0
    if given.fixes.fix or given.fixes.diff:
        from kschedctl.lint.fixing import repaired

        out = repaired(linted, partial(_again, options, against), unsafe=given.fixes.unsafe_fixes)
        if given.fixes.diff:
            _show_diff(out)
            return
        out.write()
        linted, fixed = out.linted, out.count
    failed = fail_on is not None and linted.at_least(fail_on) > 0
    _show(linted, given, failed=failed, fixed=fixed)
    if given.output.strict and linted.undecided:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if failed:
        raise typer.Exit(ExitCode.NO)


def _severity(text: str, flag: str, *others: str) -> Severity:
    try:
        return Severity(text)
    except ValueError:
        known = ", ".join([*Severity, *others])
        raise typer.BadParameter(f'"{text}" is none of {known}', param_hint=flag) from None


def _words(given: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(word.strip() for text in given or () for word in text.split(",") if word.strip())


def _options(
    given: Asked, settings: Settings, least: Severity
) -> tuple[LintOptions, Callable[[GivenSet], Against] | None]:
    snapshot = given.snapshot or tuple(map(settings.relative, settings.snapshot))
    complete = settings.complete or bool(snapshot)
    select = _words(given.rules.select) or settings.select
    extend = (*settings.extend_select, *_words(given.rules.extend_select))
    rules = asked(select, extend, (*settings.ignore, *_words(given.rules.ignore)), complete=complete)
    if given.fail_zone:
        rules = [rule for rule in RULES if rule in rules or rule.code == "KS511"]
    against, release = _against(given, snapshot) if snapshot else (None, None)
    if release is None:
        release = choose_release(given.kubernetes_version, "", ()).release
    options = LintOptions(
        rules=rules,
        settings=settings,
        namespace=given.namespace,
        release=release,
        least=least,
        ignores=not given.rules.no_ignores,
        baseline=given.rules.baseline or settings.relative(settings.baseline),
        keep_baseline=not given.rules.update_baseline,
        stdin_name=given.stdin_filename,
        max_unpacked=max_bytes(given.max_unpacked),
        single_files=given.single_files,
    )
    return options, against


def _against(given: Asked, paths: tuple[str, ...]) -> tuple[Callable[[GivenSet], Against], Release]:
    """What lays a given set over the snapshot, and whose rules apply to that."""
    from kschedctl.cli.progress import busy
    from kschedctl.lint.cluster.laid_over import LaidOver
    from kschedctl.loading import read_snapshot

    with busy("reading the snapshot"):
        snapshot = read_snapshot(*paths, max_unpacked=max_bytes(given.max_unpacked))
    more = {"config": given.config, "kubernetes_version": given.kubernetes_version, "namespace": given.namespace}
    release = LaidOver(snapshot, GivenSet([]), **more).before.release_choice.release

    def over(given_set: GivenSet) -> Against:
        return LaidOver(snapshot, given_set, **more)

    return over, release


def _again(options: LintOptions, against: Callable[[GivenSet], Against] | None, files: Sequence[LintFile]) -> Linted:
    return lint_files(files, options, against)


def _need_objects(linted: Linted, given: Asked) -> None:
    """Refuse a run that looked at nothing, which in a pipeline nobody would see."""
    if linted.n_objects or given.allow_empty or any(each.rule.code == "KS901" for each in linted.found):
        return
    names = listed(list(given.paths))
    templates = next((each for each in linted.found if each.rule.code == "KS902"), None)
    hint = templates.help if templates is not None else "--allow-empty lets it pass"
    raise InputError("no Kubernetes object is found", where=names, hint=hint)


def _update_baseline(linted: Linted, path: str) -> None:
    from kschedctl.lint.baseline import baseline_text

    try:
        Path(path).write_text(baseline_text(linted.found))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=path) from None
    tell(f"{counted(len(linted.found), 'finding')} in the baseline {path}.")


def _show_diff(out: Repaired) -> None:
    for line in out.diff():
        write(line)
    if out.texts:
        note(f"{counted(out.count, 'finding')} in {counted(len(out.texts), 'file')} can be repaired so")
        raise typer.Exit(ExitCode.NO)
    note("nothing to repair")


def _show(linted: Linted, given: Asked, *, failed: bool, fixed: int) -> None:
    colors = ColorWhen.NEVER if given.output.no_color else given.output.color
    told = Run(
        linted=linted,
        failed=failed,
        fixed=fixed,
        console=partial(open_console, colors),
        command=command_line,
        unsafe=given.fixes.unsafe_fixes,
    )
    if given.output.statistics:
        _show_statistics(linted)
        return
    for name, file in given.forms or ((_default_form(), ""),):
        text = form(name).render(told)
        if file:
            _write_file(file, "".join(text))
        else:
            for part in text:
                write(part)


def _write_file(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=path) from None


def _default_form() -> str:
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "human"


def _show_statistics(linted: Linted) -> None:
    """The rules with findings, most first."""
    counts = Counter(each.rule for each in linted.found)
    for rule, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].code)):
        tell(f"{count:6}  {rule.code}  {rule.name}")
    tell(f"{len(linted.found):6}  in all, of {counted(linted.n_objects, 'object')}")


def _list_rules() -> None:
    width = max(len(rule.name) for rule in RULES)
    for rule in RULES:
        tell(f"{rule.code}  {rule.name:{width}}  {_state(rule):7}  {_place(rule)}  {rule.summary}")


def _state(rule: Rule) -> str:
    return rule.severity.value if rule.on else "off"


def _place(rule: Rule) -> str:
    return rule.stop.value if rule.stop is not None else "-"
