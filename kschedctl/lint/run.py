"""One run of lint: read, ask, leave out what is left out, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from kschedctl.errors import InputError
from kschedctl.findings.finding import Severity
from kschedctl.lint.checking import check
from kschedctl.lint.context import Context, Undecided
from kschedctl.lint.diagnosis import ORDER, Diagnosis, in_order
from kschedctl.lint.given import GivenSet
from kschedctl.lint.ignoring import Ignored, Ignores
from kschedctl.lint.kustomize import patches
from kschedctl.lint.reading import LintFile, read_files
from kschedctl.lint.rule import About, Rule
from kschedctl.lint.settings import Settings
from kschedctl.lint.unused import unused_ignores
from kschedctl.releases.release import LATEST, Release

if TYPE_CHECKING:
    from kschedctl.lint.against import Against


@dataclass(frozen=True, slots=True, kw_only=True)
class LintOptions:
    """What is asked of a run.

    Attributes
    ----------
    rules : sequence of Rule
        Those that are asked.
    least : Severity
        Findings below it are not told.
    ignores : bool
        Whether annotations, comments and the settings may leave findings out.
    baseline : str
        The file; empty for none.
    keep_baseline : bool
        Whether what the baseline has is left out.
    single_files : bool
        Whether each file is looked at by itself.
    """

    rules: Sequence[Rule]
    settings: Settings = field(default_factory=Settings)
    namespace: str = ""
    release: Release = LATEST
    least: Severity = Severity.INFO
    ignores: bool = True
    baseline: str = ""
    keep_baseline: bool = True
    stdin_name: str = ""
    max_unpacked: int | None = None
    single_files: bool = False
    today: date = field(default_factory=date.today)


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """What a run found.

    Attributes
    ----------
    found : sequence of Diagnosis
        By file and place.
    ignored : sequence of Ignored
        What was left out, and by what.
    undecided : sequence of Undecided
        What could not be known.
    gone : int
        How many findings of the baseline are there no more.
    unread : sequence of str
        What looks like manifests and was not read.
    """

    rules: Sequence[Rule]
    files: Sequence[LintFile]
    found: Sequence[Diagnosis]
    ignored: Sequence[Ignored] = ()
    undecided: Sequence[Undecided] = ()
    gone: int = 0
    unread: Sequence[str] = ()
    n_objects: int = 0
    n_partial: int = 0
    n_live: int = 0
    n_foreign: int = 0

    def at_least(self, severity: Severity) -> int:
        """How many findings are as bad as that, or worse."""
        return sum(ORDER[each.severity] <= ORDER[severity] for each in self.found)


def lint(
    paths: Sequence[str],
    options: LintOptions,
    stdin: BinaryIO | None = None,
    against: Callable[[GivenSet], Against] | None = None,
) -> Linted:
    """Lint files.

    Parameters
    ----------
    paths : sequence of str
        Files, folders, archives, and ``-`` for standard input.
    against : callable, optional
        Lays the given set over a snapshot.

    Raises
    ------
    InputError
        Where a path cannot be read, or a baseline is none.
    """
    read = read_files(paths, stdin, stdin_name=options.stdin_name, max_unpacked=options.max_unpacked)
    InputError.raise_any(finding for error in read.errors for finding in error.findings)
    unread = [lack.what for lack in read.summary.unread()]
    if not options.single_files:
        return replace(lint_files(read.files, options, against), unread=unread)
    parts = [lint_files([file], options, against) for file in read.files]
    return _joined(parts, read.files, options, unread)


def lint_files(
    files: Sequence[LintFile], options: LintOptions, against: Callable[[GivenSet], Against] | None = None
) -> Linted:
    """Lint files that were read."""
    given = GivenSet(files, options.namespace, patches(files))
    settings = options.settings
    context = Context(
        given,
        options.release,
        settings.platform,
        settings.complete or against is not None,
        settings.pod_templates,
        settings.plugins,
        against(given) if against is not None else None,
    )
    found = [
        each.with_severity(settings.severity[each.rule.code]) if each.rule.code in settings.severity else each
        for each in check(options.rules, context)
    ]
    ignored: list[Ignored] = []
    if options.ignores:
        ignores = Ignores(context, settings, options.today)
        found, ignored = ignores.split(found)
        for rule in options.rules:
            if rule.about == About.IGNORES:
                found += unused_ignores(rule, ignores, options.rules, context)
    gone = 0
    if options.baseline and options.keep_baseline and Path(options.baseline).exists():
        from kschedctl.lint.baseline import Baseline

        found, old, gone = Baseline.read(options.baseline).split(found)
        ignored += old
    shown = [each for each in found if ORDER[each.severity] <= ORDER[options.least]]
    whole = [obj for obj in given.objects if not obj.partial]
    return Linted(
        rules=options.rules,
        files=files,
        found=in_order(shown),
        ignored=ignored,
        undecided=tuple(dict.fromkeys(context.undecided)),
        gone=gone,
        n_objects=len(given.objects),
        n_partial=len(given.objects) - len(whole),
        n_live=sum(obj.live for obj in given.objects),
        n_foreign=sum(obj.foreign for obj in given.objects),
    )


def _joined(parts: Sequence[Linted], files: Sequence[LintFile], options: LintOptions, unread: Sequence[str]) -> Linted:
    return Linted(
        rules=options.rules,
        files=files,
        found=in_order(each for part in parts for each in part.found),
        ignored=[each for part in parts for each in part.ignored],
        undecided=[each for part in parts for each in part.undecided],
        gone=min((part.gone for part in parts), default=0),
        unread=unread,
        n_objects=sum(part.n_objects for part in parts),
        n_partial=sum(part.n_partial for part in parts),
        n_live=sum(part.n_live for part in parts),
        n_foreign=sum(part.n_foreign for part in parts),
    )
