"""Findings of rules with rule, object and place, as all output formats show them."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kschedctl.common.findings import Finding, Position, Severity, field_path
from kschedctl.common.wording import counted, listed
from kschedctl.linter.file_text import Region
from kschedctl.linter.fix import Fix
from kschedctl.linter.fixed_text import fix_drops_comment
from kschedctl.linter.lint_files import LintFile
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.rule import Problem, Rule, Stage
from kschedctl.linter.values import Steps, at

ORDER: Final = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True, slots=True)
class RelatedPlace:
    """The place of another object that contributes to a problem, with an explanation."""

    object: str
    file: LintFile
    region: Region
    message: str

    @property
    def in_repository(self) -> Region:
        """The region for tools that show the files of a repository."""
        return self.file.in_repository(self.region)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """A finding of a lint rule, with its rule and its place in a file."""

    #: The rule.
    rule: Rule
    #: The finding: object, field, problem and hint.
    finding: Finding
    #: The place where the problem takes effect.
    stop: Stage | None
    #: The file that contains the problem.
    file: LintFile
    #: The region of the file.
    region: Region
    #: The object; ``None`` if the problem is of a file or of a document without an object.
    object: LintObject | None = None
    #: The field, as keys and indices from the root of the object.
    steps: Steps = ()
    related: tuple[RelatedPlace, ...] = ()
    fix: Fix | None = None
    #: The kustomizations whose builds have the finding, if others have not, or if they were rendered.
    kustomizations: tuple[str, ...] = ()
    #: The kustomizations that set the field, if the file has not the value.
    set_by: tuple[str, ...] = ()

    @property
    def in_repository(self) -> Region:
        """The region for tools that show the files of a repository."""
        return self.file.in_repository(self.region)

    @property
    def is_rendered(self) -> bool:
        """True if Kustomize built the object, and the file is the one from which it did."""
        return self.object is not None and self.object.file.built and self.object.origin is not None

    @property
    def is_written(self) -> bool:
        """True unless kustomizations set the field, which the file has not, or with another value."""
        return self.object is None or self.object.is_written(self.steps)

    @property
    def severity(self) -> Severity:
        return self.finding.severity

    @property
    def counted(self) -> bool:
        """True if output for people shows only the number of such findings."""
        return self.rule.counted and self.severity is Severity.INFO

    @property
    def message(self) -> str:
        """The problem."""
        return self.finding.problem

    @property
    def help(self) -> str:
        """The action to take; may be empty."""
        return self.finding.hint

    @property
    def shown_object(self) -> str:
        """The object as ``Kind/[NAMESPACE/]NAME``; empty if there is none."""
        return self.object.shown if self.object is not None else ""

    @property
    def writable_fix(self) -> Fix | None:
        """The fix, if its file is written; ``None`` for standard input, rendered output, JSON and links that leave."""
        fix = self.fix_of_file
        return fix if fix is not None and not fix.object.file.link_target else None

    @property
    def fix_of_file(self) -> Fix | None:
        """The fix, if its file can be written, even if the file is a link that leaves the folders of the run."""
        fix = self.fix
        can_write = fix is not None and fix.object.file.on_disk and not fix.object.document.json
        return fix if can_write else None

    def with_severity(self, severity: Severity) -> "LintFinding":
        """Return the finding with another severity."""
        return replace(self, finding=replace(self.finding, severity=severity))

    def with_comments_kept(self) -> "LintFinding":
        """Return the finding; its fix is unsafe if it drops a comment."""
        fix = self.fix
        if fix is None or not fix.safe or not fix_drops_comment(fix):
            return self
        return replace(self, fix=replace(fix, safe=False))

    @property
    def fingerprint(self) -> str:
        """A hash of rule, object, field by the names of list items, and message: it stays the same while lines move."""
        named = self.object.raw if self.object is not None else None
        parts = (self.rule.code, self.shown_object or self.file.name, named_path(named, self.steps), self.message)
        return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]


def named_path(raw: object, steps: Steps) -> str:
    """Return the path of a field with names of list items, if any, for indices: items inserted before do not change it.

    >>> named_path({"containers": [{"name": "web", "image": "x"}]}, ("containers", 0, "image"))
    'containers[web].image'
    """
    path: list[str | int] = []
    here = raw
    for step in steps:
        here = at(here, step)
        name = (
            next((here[key] for key in ("name", "key", "topologyKey") if isinstance(here.get(key), str)), None)
            if (isinstance(step, int) and isinstance(here, dict))
            else None
        )
        path.append(f"[{name}]" if name is not None else step)
    return field_path(path).replace("[[", "[").replace("]]", "]")


def object_finding(rule: Rule, problem: Problem, obj: LintObject) -> LintFinding:
    """Return the finding of a problem of an object."""
    region, fix = obj.region(problem.steps, key=problem.key), problem.fix
    if fix is not None and not all(fix.object.is_written(change.touched) for change in fix.changes):
        fix = None
    if problem.line is not None:
        column = problem.column or 1
        region = Region(problem.line, column, problem.line, column)
    finding = Finding(
        obj.words_of_source(problem.message),
        field_path(problem.steps),
        obj.words_of_source(problem.help),
        obj.location,
        obj.ref,
        rule.code,
        problem.severity or rule.severity,
        Position(region.line, region.column),
    )
    related = tuple(
        RelatedPlace(
            other.object.shown,
            other.object.source.file,
            other.object.region(other.steps),
            other.object.words_of_source(other.message),
        )
        for other in problem.related
    )
    return LintFinding(
        rule=rule,
        finding=finding,
        stop=problem.stop or rule.stop,
        file=obj.source.file,
        region=region,
        object=obj,
        steps=problem.steps,
        related=related,
        fix=fix,
        kustomizations=(obj.file.name,) if obj.file.built and obj.origin is not None else (),
        set_by=() if obj.is_written(problem.steps) else tuple(obj.changed_by(problem.steps)),
    )


def file_finding(rule: Rule, problem: Problem, file: LintFile) -> LintFinding:
    """Return the finding of a problem of a file, or of a document without an object."""
    line, column = problem.line or 1, problem.column or 1
    finding = Finding(
        problem.message,
        field_path(problem.steps),
        problem.help,
        file.name,
        None,
        rule.code,
        problem.severity or rule.severity,
        Position(line, column),
    )
    region = Region(line, column, line, column)
    return LintFinding(rule=rule, finding=finding, stop=problem.stop or rule.stop, file=file, region=region)


def of_builds(found: Iterable[LintFinding], manifests: LintManifests) -> Iterator[LintFinding]:
    """Yield the findings of a set of builds, with the kustomizations of which they are true."""
    for each in found:
        names = manifests.builders(each.object)
        if names is not None:
            yield replace(each, kustomizations=tuple(names)) if names else each


def once_per_source(found: Iterable[LintFinding], manifests: LintManifests) -> Iterator[LintFinding]:
    """Yield findings, those of several builds of one object once, with the builds in the help if others have none."""
    every: dict[tuple[object, ...], list[LintFinding]] = {}
    for each in found:
        obj = each.object
        field = named_path(obj.raw, each.steps) if obj is not None else None
        key = (each.rule.code, each.file.name, each.region, obj.source, field, each.message) if obj is not None else ()
        every.setdefault(key if each.kustomizations else (id(each),), []).append(each)
    for same in every.values():
        first, parts = same[0], [same[0].help]
        names = tuple(dict.fromkeys(name for each in same for name in each.kustomizations))
        set_by = tuple(dict.fromkeys(name for each in same for name in each.set_by))
        if set_by:
            parts.append(f"the field is set by {listed(set_by, 'or')}")
        if first.is_rendered:
            parts.append(f"in {counted(len(names), 'rendering')}: {listed(names)}")
        elif first.object is not None and names and not manifests.has_all_builders(first.object, names):
            parts.append(f"in {listed(names)}")
        else:
            names = ()
        hint = "; ".join(part for part in parts if part)
        yield replace(first, finding=replace(first.finding, hint=hint), kustomizations=names, set_by=set_by)


def sorted_findings(found: Iterable[LintFinding]) -> list[LintFinding]:
    """Return findings sorted by file, region, rule and message."""
    return sorted(found, key=lambda each: (each.file.name, each.region, each.rule.code, each.message))
