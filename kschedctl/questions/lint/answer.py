"""The answer of ``kschedctl lint`` as data: findings, ignored findings and a summary."""

from typing import Annotated, Literal

from msgspec import structs

from kschedctl.common.wording import counted
from kschedctl.questions.answer import CompoundAnswer, Data


class RelatedData(Data, frozen=True):
    """Another object that contributes to a finding."""

    object: Annotated[str, "The object, as KIND NAMESPACE/NAME."]
    file: Annotated[str, "The file of the object; empty if it is not in a file."]
    line: Annotated[int, "The line of the object, from 1; 0 if unknown."]
    column: Annotated[int, "The column of the object, from 1; 0 if unknown."]
    message: Annotated[str, "The part of the object in the finding, in words."]


class FixData(Data, frozen=True):
    """A repair of the manifest text."""

    title: Annotated[str, "The repair in a few words."]
    safe: Annotated[bool, "True if the repair changes only what is wrong, so that --fix applies it."]


class FindingData(Data, frozen=True, kw_only=True):
    """A finding: a problem that a rule reports."""

    rule: Annotated[str, "The code of the rule."]
    name: Annotated[str, "The name of the rule."]
    severity: Annotated[Literal["error", "warning", "info"], "The severity: error, warning or info."]
    place: Annotated[
        Literal["A", "B", "C", "D"] | None,
        "The stage at which the problem takes effect: A the API server refuses the object, B it refuses the "
        "object's pods, C pods stay pending, D the next rollout or drain hangs; null if nothing is blocked.",
    ]
    file: Annotated[str, "The file with the problem; empty if the object is not in a file."]
    line: Annotated[int, "The line of the finding, from 1."]
    column: Annotated[int, "The column of the finding, in characters, from 1."]
    end_line: Annotated[int, "The last line of the problem."]
    end_column: Annotated[int, "The column after the last character of the finding."]
    object: Annotated[
        str, "The object, as Kind/[NAMESPACE/]NAME as written in the manifest; empty if the document is no object."
    ]
    field: Annotated[str, "The path of the field with the problem; empty for the whole object."]
    message: Annotated[str, "The problem in one sentence."]
    help: Annotated[str, "A hint for the repair; empty if there is none."]
    related: Annotated[tuple[RelatedData, ...], "The other objects that contribute to the finding."] = ()
    fix: Annotated[FixData | None, "The repair of the text; null if there is none."] = None
    kustomizations: Annotated[
        tuple[str, ...],
        "The kustomizations whose builds have the finding, if builds of others do not, or if they were rendered.",
    ] = ()
    fingerprint: Annotated[str, "An identifier of the finding that does not change when lines move."]


class IgnoredData(Data, frozen=True):
    """A finding that is suppressed, and the source of the suppression."""

    finding: Annotated[FindingData, "The finding."]
    source: Annotated[str, "The source of the suppression: annotation, comment, settings or baseline."]
    reason: Annotated[str, "The reason that the author gives; empty if there is none."]
    file: Annotated[str, "The file with the suppression; empty if it is not in a file."]
    line: Annotated[int, "The line of the suppression, from 1; 0 if unknown."]


class UndecidedData(Data, frozen=True):
    """A rule that could not be decided for an object."""

    rule: Annotated[str, "The code of the rule."]
    object: Annotated[str, "The object, as KIND NAMESPACE/NAME."]
    why: Annotated[str, "The reason why the rule could not be decided."]


class SummaryData(Data, frozen=True, kw_only=True):
    """The counts of files, objects and findings."""

    files: Annotated[int, "The number of files that were read."]
    objects: Annotated[int, "The number of objects in them."]
    errors: Annotated[int, "The number of findings with the severity error."]
    warnings: Annotated[int, "The number of findings with the severity warning."]
    infos: Annotated[int, "The number of findings with the severity info."]
    ignored: Annotated[int, "The number of findings that are suppressed."]
    partial: Annotated[int, "The number of objects that are patches or fragments, which most rules skip."]
    live: Annotated[int, "The number of objects that were read from a cluster."]
    owned: Annotated[
        int,
        "The number of pods and workloads that another workload of the files creates, which is checked in place "
        "of them.",
    ] = 0
    with_pods: Annotated[
        int, "The number of objects with pods that rules check: pods, and workloads with a pod template."
    ]
    not_rendered: Annotated[
        dict[str, int],
        "The number of custom resources that a controller renders in the cluster, so that their pods are not checked, "
        "by kind, such as HelmRelease.",
    ]
    unchecked: Annotated[
        dict[str, int],
        "The number of custom resources with containers at a place that lint does not know, so that their pods are not "
        "checked, by kind, such as Workflow; with the group if Kubernetes has a kind of that name, as in "
        "Job.batch.volcano.sh.",
    ]
    lowered: Annotated[
        dict[str, int],
        "The number of findings that are info because of the purpose of their folder: tests or published releases.",
    ]
    foreign: Annotated[
        int, "The number of objects whose kind has the name of a Kubernetes kind but belongs to another API group."
    ]
    no_manifests: Annotated[int, "The number of files that cannot be read, and are no manifests or of another tool."]
    excluded: Annotated[
        dict[str, int], "The number of files and folders that were left out, by reason, such as .gitignore."
    ]
    fixed: Annotated[int, "The number of findings that were repaired."] = 0
    gone: Annotated[int, "The number of findings in the baseline that no longer occur."] = 0
    rules: Annotated[dict[str, int], "The number of findings of each rule, by code."]
    not_run: Annotated[tuple[str, ...], "The codes of the rules that did not run because no cluster was given."] = ()
    undecided: Annotated[tuple[UndecidedData, ...], "The rules that could not be decided, with their objects."] = ()


class LintReport(CompoundAnswer, frozen=True, kw_only=True, tag="LintReport"):
    """The findings of ``lint``."""

    findings: Annotated[tuple[FindingData, ...], "The findings, sorted by file and line."]
    ignored: Annotated[tuple[IgnoredData, ...], "The findings that are suppressed."]
    summary: Annotated[SummaryData, "The counts."]

    @property
    def yes(self) -> bool:
        """True if there are neither errors nor warnings."""
        return not self.summary.errors and not self.summary.warnings

    @property
    def complete(self) -> bool:
        """True if every rule could be decided."""
        return not self.summary.undecided


# The answer of ``kschedctl rule`` as data.


class RulePage(Data, frozen=True, kw_only=True):
    """The documentation of a rule."""

    code: Annotated[str, "The code of the rule, such as KS201."]
    name: Annotated[str, "The name of the rule."]
    severity: Annotated[str, "The severity of its findings: error, warning or info."]
    on: Annotated[bool, "True if the rule is enabled by default, without being selected."]
    place: Annotated[
        str | None, "The stage at which the problem takes effect, A to D; null if it takes effect at none."
    ]
    place_in_words: Annotated[str, "The stage at which the problem takes effect, in words."]
    needs_snapshot: Annotated[bool, "True if the rule needs the snapshot of a cluster."]
    page: Annotated[str, "The documentation, as Markdown."]
    fails: Annotated[str, 'An example that violates the rule; the lines with findings end with "# <-".']
    passes: Annotated[str, "An example that does not violate the rule."]


class RulePages(CompoundAnswer, frozen=True, kw_only=True, tag="RulePages"):
    """The documentation of one or more rules."""

    summary: Annotated[str, "The rule, or the number of rules."] = ""
    items: Annotated[tuple[RulePage, ...], "The rules."]

    def __post_init__(self) -> None:
        only = self.items[0] if len(self.items) == 1 else None
        structs.force_setattr(self, "summary", f"{only.code} {only.name}" if only else counted(len(self.items), "rule"))

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the codes of the rules, ``rule/CODE``."""
        return tuple(f"rule/{page.code}" for page in self.items)
