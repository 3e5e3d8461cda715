"""A run of lint: read files, run rules, apply ignores and the baseline, and collect the findings that remain."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed
from kschedctl.linter.context import LintContext, Undecided
from kschedctl.linter.excluded_paths import REASONS, ExcludedPaths
from kschedctl.linter.folder_purposes import Purpose
from kschedctl.linter.ignore import Ignored
from kschedctl.linter.ignores import Ignores
from kschedctl.linter.kustomization import kustomizations, normal_path
from kschedctl.linter.lint_files import LintDocument, LintFile, read_files
from kschedctl.linter.lint_finding import (
    ORDER,
    LintFinding,
    file_finding,
    named_path,
    object_finding,
    of_builds,
    once_per_source,
    sorted_findings,
)
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.rendering import Rendering, render
from kschedctl.linter.rule import Rule, RuleSubject
from kschedctl.linter.settings import Settings
from kschedctl.linter.unchecked_pods import unchecked_pods
from kschedctl.objects.releases.release import LATEST, Release

if TYPE_CHECKING:
    from kschedctl.linter.overlay import ClusterOverlay


def check(rules: Iterable[Rule], *contexts: LintContext) -> list[LintFinding]:
    """Return the findings of rules.

    Args:
        rules: The rules to run. Rules that need a snapshot are skipped if there is none.
        contexts: The contexts of the sets of builds, the first one first.
    """
    found = (each for context in contexts for each in _set_findings(rules, context))
    return sorted_findings(once_per_source(found, contexts[0].manifests))


def _set_findings(rules: Iterable[Rule], context: LintContext) -> list[LintFinding]:
    found: list[LintFinding] = []
    for rule in rules:
        if rule.snapshot and context.overlay is None:
            continue
        found += of_builds(_without_repeated(list(_rule_findings(rule, context))), context.manifests)
    return found


def _without_repeated(found: Sequence[LintFinding]) -> Iterator[LintFinding]:
    """Yield findings of one rule without those of fields that a patch sets which has the same finding."""
    of_patches = {(normal_path(each.file.name), *_problem(each)) for each in found if each.object is not None}
    for each in found:
        built = each.object.built if each.object is not None else None
        patches = built.patches if built is not None and not each.is_written else ()
        if all((path, *_problem(each)) not in of_patches for path in patches):
            yield each


def _problem(finding: LintFinding) -> tuple[str, str]:
    raw = finding.object.raw if finding.object is not None else None
    return finding.message, named_path(raw, finding.steps)


def _rule_findings(rule: Rule, context: LintContext) -> Iterator[LintFinding]:
    match rule.about:
        case RuleSubject.PODS:
            for pods in (*context.workloads, *(context.fragments if rule.of_fields else ())):
                yield from (object_finding(rule, problem, pods.obj) for problem in rule.check(pods, context))
        case RuleSubject.OBJECT:
            for obj in context.manifests.objects:
                yield from (object_finding(rule, problem, obj) for problem in rule.check(obj, context))
        case RuleSubject.FILE:
            for file in context.manifests.files:
                yield from (file_finding(rule, problem, file) for problem in rule.check(file, context))
        case RuleSubject.IGNORES:
            return
        case kind:
            for obj in context.manifests.by_type.get(kind, ()):
                yield from (object_finding(rule, problem, obj) for problem in rule.check(obj, context))


def unused_ignores(rule: Rule, ignores: Ignores, asked: Sequence[Rule], context: LintContext) -> Iterator[LintFinding]:
    """Yield the findings of a rule about ignores.

    Args:
        asked: The rules that ran. An ignore for other rules is not checked, as it may suppress findings in another
            run.
    """
    codes = {each.code for each in asked if not each.snapshot or context.overlay is not None}
    for ignore in ignores.every():
        if ignore.codes is not None and not ignore.unknown and codes.isdisjoint(ignore.codes):
            continue
        # A Deployment's annotations are copied to its ReplicaSets, those of its template to its pods.
        if ignore.object in context.owned:
            continue
        for problem in rule.check(ignore, context):
            if ignore.object is not None:
                yield object_finding(rule, problem, ignore.object)
            else:
                file = next((each for each in context.manifests.source_files if each.name == ignore.file), None)
                yield file_finding(rule, problem, file if file is not None else LintFile(ignore.file, b""))


#: The rule that is not decided for what cannot be rendered.
_UNRENDERED: Final = "KS902"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRequest:
    """The options of a run."""

    #: The rules to run.
    rules: Sequence[Rule]
    #: The rules that would run, too, if there were a cluster.
    not_run: Sequence[Rule] = ()
    settings: Settings = field(default_factory=Settings)
    namespace: str = ""
    release: Release = LATEST
    #: Applies the manifests to a snapshot.
    overlay: "Callable[[LintManifests], ClusterOverlay] | None" = None
    #: The least severity to report.
    least: Severity = Severity.INFO
    #: True if annotations, comments and the settings can suppress findings.
    ignores: bool = True
    #: The baseline file; empty if there is none.
    baseline: str = ""
    #: True if findings of the baseline are suppressed.
    keep_baseline: bool = True
    stdin_name: str = ""
    max_unpacked: int | None = None
    #: True if kustomizations and charts are rendered first.
    render: bool = False
    #: True if each file is linted separately, as a manifest set of its own.
    single_files: bool = False
    today: date = field(default_factory=date.today)


@dataclass(slots=True, kw_only=True)
class LintResult:
    """The result of a run."""

    rules: Sequence[Rule]
    files: Sequence[LintFile]
    #: The rules that would have run, too, if there were a cluster.
    not_run: Sequence[Rule] = ()
    #: The findings, by file and region.
    found: list[LintFinding] = field(default_factory=list)
    #: The suppressed findings, each with its ignore.
    ignored: list[Ignored] = field(default_factory=list)
    #: The rules that could not be decided, each with object and reason.
    undecided: list[Undecided] = field(default_factory=list)
    #: The number of findings of the baseline that do not occur; the least of all files if linted separately.
    gone: int = 0
    #: Descriptions of input that looks like manifests and was not read.
    unread: list[str] = field(default_factory=list)
    objects: list[LintObject] = field(default_factory=list)
    #: The number of pods and workloads that another workload creates, which is checked in place of them.
    n_owned: int = 0
    #: The number of objects with pods that rules check: pods, and workloads with a pod template.
    n_with_pods: int = 0
    #: The custom resources whose pods are not checked, by kind: a controller renders them in the cluster.
    not_rendered: Counter[str] = field(default_factory=Counter)
    #: The custom resources whose pods are not checked, by kind: the place of their containers is not known.
    unchecked: Counter[str] = field(default_factory=Counter)
    #: The first unreadable document of each file that is no manifest.
    no_manifests: list[LintDocument] = field(default_factory=list)
    #: The number of findings that are info because of the purpose of their folder, such as tests.
    lowered: Counter[str] = field(default_factory=Counter)
    #: The number of files and folders that were left out, by the reason.
    excluded: Counter[str] = field(default_factory=Counter)

    def at_least(self, severity: Severity) -> int:
        """Return the number of findings of a severity or a worse one."""
        return sum(ORDER[each.severity] <= ORDER[severity] for each in self.found)

    @property
    def left_out(self) -> str:
        """The numbers of files and folders that were left out, with the reasons, in words; empty if there is none."""
        return ", ".join(f"{n} by {reason}" for reason, n in sorted(self.excluded.items()))

    @property
    def n_objects(self) -> int:
        """The number of objects that were read."""
        return len(self.objects)

    @property
    def n_partial(self) -> int:
        return sum(bool(obj.partial) for obj in self.objects)

    @property
    def n_live(self) -> int:
        """The number of objects that were read from a cluster."""
        return sum(obj.live for obj in self.objects)

    @property
    def n_foreign(self) -> int:
        """The number of objects of an unknown kind that has the name of a known kind of another API group."""
        return sum(obj.foreign for obj in self.objects)


def lint(paths: Sequence[str], request: LintRequest, stdin: BinaryIO | None = None) -> LintResult:
    """Lint files.

    Parameters
    ----------
    paths : sequence of str
        Files, folders, archives, and ``-`` for standard input.

    Raises
    ------
    InputError
        If a path cannot be read.
    ConfigError
        If the baseline cannot be read.
    """
    read = read_files(
        paths,
        stdin,
        stdin_name=request.stdin_name,
        excluded=ExcludedPaths(request.settings.exclude, request.settings.folder),
        max_unpacked=request.max_unpacked,
    )
    InputError.raise_any(finding for error in read.errors for finding in error.findings)
    rendering = render(read.files, request.namespace, request.release) if request.render else Rendering(read.files)
    inside = {file.name: file.inside for file in read.files}
    for file in rendering.files:
        file.inside = inside.get(file.name, "")
    linted = lint_files(rendering.files, request)
    linted.undecided += [Undecided(_UNRENDERED, each.folder, each.why) for each in rendering.failures]
    linted.unread = [lack.what for lack in read.summary.unread()]
    linted.unread += [f"{each.folder} was not rendered: {each.why}" for each in rendering.failures]
    if request.render and not (rendering.n_rendered or rendering.failures):
        linted.unread.append("nothing was rendered: no kustomization and no chart is found")
    linted.excluded = Counter(each.reason for each in read.summary.passed if each.reason in REASONS)
    return linted


def lint_files(files: Sequence[LintFile], request: LintRequest) -> LintResult:
    """Lint files that were read already."""
    linted = LintResult(rules=request.rules, files=files, not_run=request.not_run)
    sets = [[file] for file in files] if request.single_files else [files]
    linted.gone = min((_lint_set(one, request, linted) for one in sets), default=0)
    linted.found = sorted_findings(each for each in linted.found if ORDER[each.severity] <= ORDER[request.least])
    return linted


def _lowered_to_info(found: LintFinding, context: LintContext) -> Purpose | None:
    """Return the purpose of the folder for which a finding is info: its manifests are not applied as they are."""
    purpose = context.purpose_of(found.file if found.object is None else found.object.file)
    if purpose is None or purpose.purpose is Purpose.PAST or found.severity is Severity.INFO:
        return None
    return purpose.purpose


def _lint_set(files: Sequence[LintFile], request: LintRequest, linted: LintResult) -> int:
    """Lint files as one manifest set; return the number of findings of the baseline that do not occur."""
    manifests, settings = LintManifests(files, request.namespace, kustomizations(files)), request.settings
    contexts = [
        LintContext(
            each,
            request.release,
            request.overlay(each) if request.overlay is not None else None,
            platform=settings.platform,
            plugins=settings.plugins,
            pod_templates=settings.ways_to_templates,
            is_rendered=request.render,
        )
        for each in map(manifests.of_set, range(manifests.n_sets))
    ]
    context = contexts[0]
    every, lowered = list[LintFinding](), dict[int, Purpose]()
    for each in check(request.rules, *contexts):
        severity, purpose = settings.severity.get(each.rule.code), _lowered_to_info(each, context)
        default = each.severity if purpose is None else Severity.INFO
        every.append(each.with_severity(severity or default).with_comments_kept())
        if severity is None and purpose is not None:
            lowered[id(every[-1])] = purpose
    found = every
    if request.ignores:
        ignores = Ignores(context, settings, request.today)
        found, ignored = ignores.split(found)
        linted.ignored += ignored
        for rule in request.rules:
            if rule.about == RuleSubject.IGNORES:
                found += unused_ignores(rule, ignores, request.rules, context)
    gone = 0
    if request.baseline and request.keep_baseline and Path(request.baseline).exists():
        from kschedctl.linter.ignores import Baseline

        found, old, gone = Baseline.read(request.baseline).split(found)
        linted.ignored += old
    linted.found += found
    linted.lowered += Counter(str(lowered[id(each)]) for each in found if id(each) in lowered)
    linted.undecided += dict.fromkeys(each for one in contexts for each in one.undecided)
    linted.undecided += (
        Undecided(
            _UNRENDERED, obj.shown, f"more builds differ than the {manifests.n_sets} that are checked: {listed(names)}"
        )
        for obj, names in manifests.unchecked_builds()
    )
    linted.objects += manifests.objects
    linted.n_owned += len(context.owned)
    linted.n_with_pods += len(context.pods)
    pods = unchecked_pods(context)
    linted.not_rendered += pods.not_rendered
    linted.unchecked += pods.unchecked
    linted.no_manifests += manifests.unreadable.no_manifests
    return gone
