"""The analysis behind ``lint``: settings and rules are chosen, manifests are read, and findings are reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kschedctl.analyses.handle import Handle
from kschedctl.api.wording import listed
from kschedctl.errors import InputError
from kschedctl.findings.finding import Severity
from kschedctl.linter.manifest_set import ManifestSet
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import Linted, LintRequest
from kschedctl.linter.run import lint as lint_paths
from kschedctl.linter.selection import asked
from kschedctl.linter.settings import chosen_settings
from kschedctl.releases.choice import choose_release
from kschedctl.releases.release import Release
from kschedctl.snapshot.load import Snapshot
from kschedctl.snapshot.standard_input import STDIN, open_stdin

if TYPE_CHECKING:
    from kschedctl.linter.cluster.snapshot_overlay import SnapshotOverlay

#: The rule behind ``--fail-zone``.
_FAIL_ZONE: Final = "KS511"
#: Findings that say why nothing else was found.
_UNREADABLE, _TEMPLATES = "KS901", "KS902"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChoice:
    """The rules that are checked, and the findings that count.

    Attributes
    ----------
    select, extend_select, ignore : sequence of str
        Codes, beginnings of codes, or names of rules.
    severity : Severity
        The least severe findings that are reported.
    ignores : bool
        True if annotations, comments and settings can leave findings out.
    settings : str
        The file of settings; empty for the nearest one upward.
    baseline : str
        The file of findings that do not count; empty for that of the settings.
    update_baseline : bool
        True if the baseline is about to be written anew.
    """

    select: Sequence[str] = ()
    extend_select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    severity: Severity = Severity.INFO
    ignores: bool = True
    settings: str = ""
    baseline: str = ""
    update_baseline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestChoice:
    """The manifests, and the cluster that they are checked against.

    Attributes
    ----------
    paths : tuple of str
        Files, folders and archives; ``-`` is standard input.
    snapshot : tuple of str or Snapshot
        The cluster: paths, or a snapshot that was read; empty for that of the settings, or none.
    namespace : str
        The namespace of objects that name none.
    kubernetes_version, config : str
        The release and the configuration, as for ``kschedctl.load``.
    fail_zone : bool
        True to check whether all pods fit without one of the zones.
    single_files : bool
        True to check each file by itself.
    stdin_name : str
        The name of standard input in findings.
    max_bytes : int or None
        The most bytes that are unpacked.
    """

    paths: tuple[str, ...]
    snapshot: tuple[str, ...] | Snapshot = ()
    namespace: str = ""
    kubernetes_version: str = ""
    config: str = ""
    fail_zone: bool = False
    single_files: bool = False
    stdin_name: str = ""
    max_bytes: int | None = None


def lint_request(manifests: ManifestChoice, choice: RuleChoice, handle: Handle) -> LintRequest:
    """Return the request for a run: settings are read, rules are chosen, and the snapshot is read.

    Raises
    ------
    InputError
        If a path, a rule or the settings are wrong, or there is no such baseline.
    """
    settings = chosen_settings(choice.settings, manifests.paths)
    snapshot = manifests.snapshot or tuple(map(settings.relative, settings.snapshot))
    rules = asked(
        _words(choice.select) or settings.select,
        (*settings.extend_select, *_words(choice.extend_select)),
        (*settings.ignore, *_words(choice.ignore)),
        complete=settings.complete or bool(snapshot),
    )
    if manifests.fail_zone:
        rules = [rule for rule in RULES if rule in rules or rule.code == _FAIL_ZONE]
    baseline = choice.baseline or settings.relative(settings.baseline)
    if baseline and not choice.update_baseline and not Path(baseline).exists():
        hint = "kschedctl lint --baseline FILE --update-baseline writes it"
        raise InputError("there is no such baseline", where=baseline, hint=hint)
    source = _Source(manifests, snapshot, handle) if snapshot else None
    return LintRequest(
        rules=rules,
        settings=settings,
        namespace=manifests.namespace,
        release=source.release if source is not None else choose_release(manifests.kubernetes_version, "", ()).release,
        overlay=source.overlay if source is not None else None,
        least=choice.severity,
        ignores=choice.ignores,
        baseline=baseline,
        keep_baseline=not choice.update_baseline,
        stdin_name=manifests.stdin_name,
        max_unpacked=manifests.max_bytes,
        single_files=manifests.single_files,
    )


class _Source:
    """The snapshot that manifests are checked against."""

    def __init__(self, manifests: ManifestChoice, snapshot: tuple[str, ...] | Snapshot, handle: Handle) -> None:
        self._manifests = manifests
        if isinstance(snapshot, Snapshot):
            self._snapshot = snapshot
        else:
            # Without a snapshot lint needs no engine.
            from kschedctl.loading import read_snapshot

            with handle.busy("reading the snapshot"):
                self._snapshot = read_snapshot(*snapshot, max_unpacked=manifests.max_bytes)

    def overlay(self, given: ManifestSet) -> SnapshotOverlay:
        """Return the snapshot with manifests applied."""
        from kschedctl.linter.cluster.snapshot_overlay import SnapshotOverlay

        own = self._manifests
        return SnapshotOverlay(
            self._snapshot,
            given,
            namespace=own.namespace,
            config=own.config,
            kubernetes_version=own.kubernetes_version,
        )

    @property
    def release(self) -> Release:
        """The release whose rules apply."""
        return self.overlay(ManifestSet([])).before.release_choice.release


def lint(manifests: ManifestChoice, request: LintRequest, handle: Handle, *, allow_empty: bool = False) -> Linted:
    """Check manifests.

    Raises
    ------
    InputError
        If a path cannot be read, or no object is found and that is not allowed.
    """
    linted = lint_paths(manifests.paths, request, open_stdin() if STDIN in manifests.paths else None)
    for what in linted.unread:
        handle.warn(what)
    if not (linted.n_objects or allow_empty or any(each.rule.code == _UNREADABLE for each in linted.found)):
        templates = next((each for each in linted.found if each.rule.code == _TEMPLATES), None)
        hint = templates.help if templates is not None else "--allow-empty lets it pass"
        raise InputError("no Kubernetes object is found", where=listed(list(manifests.paths)), hint=hint)
    return linted


def _words(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())
