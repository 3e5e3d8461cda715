"""One run of lint: read, ask, leave out what is left out, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from kschedctl.errors import InputError
from kschedctl.findings.finding import Severity
from kschedctl.linter.checking import check, unused_ignores
from kschedctl.linter.context import Context, Undecided
from kschedctl.linter.diagnosis import ORDER, Diagnosis, in_order
from kschedctl.linter.ignore import Ignored
from kschedctl.linter.ignoring import Ignores
from kschedctl.linter.kustomize import patches
from kschedctl.linter.manifest_set import ManifestObject, ManifestSet
from kschedctl.linter.reading import LintFile, read_files
from kschedctl.linter.rule import About, Rule
from kschedctl.linter.settings import Settings
from kschedctl.releases.release import LATEST, Release

if TYPE_CHECKING:
    from kschedctl.linter.overlay import Overlay


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRequest:
    """What a run is to look for, and how."""

    #: The rules that are asked.
    rules: Sequence[Rule]
    settings: Settings = field(default_factory=Settings)
    namespace: str = ""
    release: Release = LATEST
    #: Applies the manifests to a snapshot.
    overlay: Callable[[ManifestSet], Overlay] | None = None
    #: Findings below it are not shown.
    least: Severity = Severity.INFO
    #: Whether annotations, comments and the settings may leave findings out.
    ignores: bool = True
    #: The file; empty for none.
    baseline: str = ""
    #: Whether what the baseline has is left out.
    keep_baseline: bool = True
    stdin_name: str = ""
    max_unpacked: int | None = None
    #: Whether each file is looked at by itself.
    single_files: bool = False
    today: date = field(default_factory=date.today)


@dataclass(slots=True, kw_only=True)
class Linted:
    """What a run found."""

    rules: Sequence[Rule]
    files: Sequence[LintFile]
    #: By file and place.
    found: list[Diagnosis] = field(default_factory=list)
    #: What was left out, and by what.
    ignored: list[Ignored] = field(default_factory=list)
    #: What could not be known.
    undecided: list[Undecided] = field(default_factory=list)
    #: How many findings of the baseline are there no more.
    gone: int = 0
    #: What looks like manifests and was not read.
    unread: Sequence[str] = ()
    objects: list[ManifestObject] = field(default_factory=list)

    def at_least(self, severity: Severity) -> int:
        """How many findings are as bad as that, or worse."""
        return sum(ORDER[each.severity] <= ORDER[severity] for each in self.found)

    @property
    def n_objects(self) -> int:
        """How many objects were read."""
        return len(self.objects)

    @property
    def n_partial(self) -> int:
        """How many of them are none of their own."""
        return sum(bool(obj.partial) for obj in self.objects)

    @property
    def n_live(self) -> int:
        """How many of them were read from a cluster."""
        return sum(obj.live for obj in self.objects)

    @property
    def n_foreign(self) -> int:
        """How many of them have the name of a kind of another API group."""
        return sum(obj.foreign for obj in self.objects)


def lint(paths: Sequence[str], request: LintRequest, stdin: BinaryIO | None = None) -> Linted:
    """Lint files.

    ``paths``: files, folders, archives, and ``-`` for standard input.
    Raise ``InputError`` where a path cannot be read, or a baseline is none.
    """
    read = read_files(paths, stdin, stdin_name=request.stdin_name, max_unpacked=request.max_unpacked)
    InputError.raise_any(finding for error in read.errors for finding in error.findings)
    linted = lint_files(read.files, request)
    linted.unread = [lack.what for lack in read.summary.unread()]
    return linted


def lint_files(files: Sequence[LintFile], request: LintRequest) -> Linted:
    """Lint files that were read."""
    linted = Linted(rules=request.rules, files=files)
    sets = [[file] for file in files] if request.single_files else [files]
    linted.gone = min((_lint_set(one, request, linted) for one in sets), default=0)
    linted.found = in_order(each for each in linted.found if ORDER[each.severity] <= ORDER[request.least])
    return linted


def _lint_set(files: Sequence[LintFile], request: LintRequest, linted: Linted) -> int:
    """Lint files that see one another; return how many findings of the baseline are there no more."""
    manifests, settings = ManifestSet(files, request.namespace, patches(files)), request.settings
    overlay = request.overlay(manifests) if request.overlay is not None else None
    context = Context(
        manifests,
        request.release,
        overlay,
        platform=settings.platform,
        plugins=settings.plugins,
        pod_templates=settings.ways_to_templates,
    )
    found = [
        each.with_severity(settings.severity.get(each.rule.code, each.severity))
        for each in check(request.rules, context)
    ]
    if request.ignores:
        ignores = Ignores(context, settings, request.today)
        found, ignored = ignores.split(found)
        linted.ignored += ignored
        for rule in request.rules:
            if rule.about == About.IGNORES:
                found += unused_ignores(rule, ignores, request.rules, context)
    gone = 0
    if request.baseline and request.keep_baseline and Path(request.baseline).exists():
        from kschedctl.linter.baseline import Baseline

        found, old, gone = Baseline.read(request.baseline).split(found)
        linted.ignored += old
    linted.found += found
    linted.undecided += dict.fromkeys(context.undecided)
    linted.objects += manifests.objects
    return gone
