"""Files and objects as an API server reads them, and ignores of findings."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from kschedctl.common.findings import Finding, Position, Severity
from kschedctl.common.wording import counted
from kschedctl.linter.context import LintContext, Undecided
from kschedctl.linter.fix import removing
from kschedctl.linter.ignore import Ignore
from kschedctl.linter.lint_files import Flaw, LintFile, found_in
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem, Rule, RuleSubject, Stage
from kschedctl.linter.unreadable_files import TEMPLATES, Unreadable, UnreadableFiles, placeholder_in_braces
from kschedctl.linter.values import IN_BRACES, Steps, at, is_rendered, steps_of
from kschedctl.objects.schema.schema import unknown_with_steps
from kschedctl.objects.validation.pod_rejections import FAILED_CREATE, FORBIDDEN
from kschedctl.objects.validation.validate import refuses, validate
from kschedctl.sources.snapshot.content_sniffing import unrendered


@Rule(
    "KS901",
    "not-yaml",
    Severity.ERROR,
    Stage.REFUSED,
    RuleSubject.FILE,
    fails="""v1 Pod web
nodeSelector: {pool: web
containers: []  # <-
""",
    repair={"{pool: web": "{pool: web}"},
)
def not_yaml(file: LintFile, context: LintContext) -> Iterator[Problem]:
    """A document is not YAML, or is YAML that Kubernetes does not read.

    The content of the document is not known. The other documents of the file are checked nevertheless. Rules that report a
    missing object report nothing if the object may be in this document. Unfilled templates are reported by KS902; the rule
    is not decided for those of Terraform and envsubst. Files without the keys ``apiVersion`` and ``kind``, such as
    tsconfig.json, are counted only.

    The API server never receives the document: kubectl apply and other tools stop there.

    Repair: as the message says.
    """
    unreadable = context.manifests.unreadable
    if unreadable.is_incomplete(file):
        context.undecided.append(Undecided("KS901", file.name, "the template is not filled in"))
    if unreadable.of.get(file.name) is not Unreadable.MANIFEST:
        return
    for document in file.documents:
        if document.broken is not None:
            broken = document.broken
            assert broken is not None
            line, column = document.before + 1, 1
            if broken.position is not None:
                line, column = document.before + broken.position.line, broken.position.column
            # If the text ends too early, the position can be after its last line.
            last = document.before + document.text.rstrip().count(b"\n") + 1
            yield Problem(message=broken.problem, help=broken.hint, line=min(line, last), column=column)


_MARKS: Final = ("{{", "{%", "${", "%{")


@Rule(
    "KS902",
    "unrendered-template",
    Severity.INFO,
    None,
    RuleSubject.FILE,
    fails="""apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}  # <-
spec:
  containers: []
""",
    repair={"{{ .Release.Name }}": '"{{ .Release.Name }}"'},
)
def unrendered_template(file: LintFile, context: LintContext) -> Iterator[Problem]:
    """A file is an unfilled template, so it is not YAML.

    The file contains ``{{`` or ``{%``, or is in a chart; or another tool completes it: it has a directive of Terraform such
    as ``%{ for``, or on the line that is not YAML an unquoted ``${`` or a placeholder in braces such as ``{name}/web``. The
    rule reports once for all charts, once for all other templates, and once for all files with placeholders; it ignores
    templates in folders named testdata. Documents of the file that are valid YAML are checked; rules ignore their fields
    with placeholders.

    Nothing is blocked: the rendered manifests may be correct.

    Repair: lint the result, ``kschedctl lint --render CHART`` or ``helm template CHART | kschedctl lint -``.
    """
    unreadable = context.manifests.unreadable
    if unreadable.of.get(file.name) is not Unreadable.TEMPLATE:
        return
    templates = (other for other in context.manifests.files if unreadable.of.get(other.name) is Unreadable.TEMPLATE)
    same = [other for other in templates if _completed_by(other, unreadable) == _completed_by(file, unreadable)]
    if same[0] is not file:
        return
    told = unrendered(file.text, file.name)
    position = (told.position if told is not None else None) or _first_braces(file)
    chart = unreadable.chart_of(file)
    if unreadable.is_incomplete(file):
        broken = next(document for document in file.documents if document.broken is not None)
        placeholder = placeholder_in_braces(broken)
        what, tool = "has a placeholder that is not filled in", "envsubst < FILE"
        if placeholder:
            what = f"{placeholder} is a placeholder that is not filled in, and YAML reads its braces as a mapping"
            tool = f"sed 's/{placeholder}/VALUE/g' FILE"
        command = f"fill in the placeholders, as with {tool}"
    elif chart:
        n_charts = len({unreadable.chart_of(other) for other in same})
        what = f"chart {chart} is not rendered"
        if n_charts > 1:
            what = f"{n_charts} charts are not rendered, such as {chart}"
        command = f"{'' if context.is_rendered else '--render, or '}helm template {chart if n_charts == 1 else 'CHART'}"
    else:
        what, command = "is a template that is not rendered", "helm template CHART"
    if chart:
        what += f" ({counted(len(same), 'file')} could not be read)"
    elif len(same) > 1:
        what += f"; {counted(len(same) - 1, 'more file')} of this kind, such as {same[1].name}"
    yield Problem(
        message=what, help=f"lint the result: {command} | kschedctl lint -", line=position.line, column=position.column
    )


def _completed_by(file: LintFile, unreadable: UnreadableFiles) -> str:
    """Return the kind of tool that completes a template."""
    if unreadable.is_incomplete(file):
        return "substitution"
    return "chart" if unreadable.chart_of(file) else "template"


def _first_braces(file: LintFile) -> Position:
    """Return the position of the first placeholder, or of the document that could not be read."""
    broken = next(document for document in file.documents if document.broken is not None)
    if (
        (placeholder := placeholder_in_braces(broken))
        and broken.broken is not None
        and broken.broken.position is not None
    ):
        wrong = broken.before + broken.broken.position.line
        return Position(wrong, file.lines[wrong - 1].find(placeholder) + 1)
    for number, line in enumerate(file.lines[broken.before :], broken.before + 1):
        if found := [at for mark in _MARKS if (at := line.find(mark)) >= 0]:
            return Position(number, min(found) + 1)
    return Position(broken.before + 1, 1)


@Rule(
    "KS903",
    "duplicate-key",
    Severity.ERROR,
    None,
    RuleSubject.OBJECT,
    fails="""apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  hostNetwork: true
  containers:
  - name: web
    image: nginx
  hostNetwork: false  # <-
""",
    repair={"  hostNetwork: true\n": ""},
)
def duplicate_key(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A mapping contains a key twice, and which of the values applies depends on the tool that reads it.

    ``kubectl`` and Helm use the last value, without a warning: they convert the manifest to JSON before they send it, so
    strict validation (``kubectl --validate=strict``) cannot find the other value. ``kustomize`` refuses the file ("mapping
    key already defined"), also if the values are equal. The API server refuses YAML that a client sends unchanged, if it
    requests strict validation. Equal values are info, unless a kustomization reads the file.

    kubectl and Helm apply the object with the last value; kustomize stops if a kustomization reads the file.

    Repair: remove one of them.
    """
    is_built = obj.file.name in context.manifests.kustomizations.read
    known: dict[Steps, bool] = {}
    for repeated in obj.document.repeated:
        if repeated.steps[: len(obj.inside)] != obj.inside:
            continue
        if repeated.steps not in known:
            known[repeated.steps] = obj.document.are_equal(repeated.steps)
        steps = repeated.steps[len(obj.inside) :]
        position = repeated.position
        is_equal = known[repeated.steps]
        effect = " with equal values:" if is_equal else ": kubectl and Helm use the last value without a warning,"
        yield Problem(
            message=f"the key {steps[-1]} occurs twice{effect} kustomize refuses the file",
            steps=steps,
            help="remove one of them",
            severity=Severity.INFO if is_equal and not is_built else None,
            stop=Stage.REFUSED if is_built else None,
            key=True,
            line=None if position is None else obj.document.before + position.line,
            column=None if position is None else position.column,
        )


#: Keys of tools: directives of strategic merge patches, and the anchors of Kyverno, such as ``+(name)``.
_OF_TOOLS: Final = re.compile(r"\$.*|[+=^X<]?\(.*\)")
#: The field in which SOPS stores the keys of an encrypted object.
_SOPS: Final = ("sops",)


@Rule(
    "KS904",
    "misplaced-field",
    Severity.ERROR,
    Stage.REFUSED,
    RuleSubject.OBJECT,
    fails="""apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  nodeSelector:  # <-
    pool: web
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx
""",
    repair={
        "  nodeSelector:  # <-\n    pool: web\n": "",
        "      containers:": "      nodeSelector:\n        pool: web\n      containers:",
    },
)
def misplaced_field(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A field is misspelt, or is at a place where its kind has no such field, so it has no effect.

    Examples are ``nodeSelector`` beside ``template`` instead of in the template's spec, ``requests`` beside ``resources``,
    ``topologySpreadConstraint``, and preferred anti-affinity without ``podAffinityTerm``. The rule checks all fields of the
    kinds of Kubernetes itself, by group and version; custom resources may have any fields. Left out are the keys of tools
    that remove them before the object reaches the API server: ``sops``, patch directives such as ``$patch``, and anchors in
    parentheses as in ``(image)``.

    The API server refuses the object if strict validation is requested, as by kubectl; Helm and older clients drop the
    field silently.

    Repair: as the message says.
    """
    found, *others = (dict(unknown_with_steps(obj.raw, *kind)) for kind in context.manifests.built_kinds(obj))
    for steps, finding in found.items():
        if any(steps not in other for other in others):
            continue
        name = steps[-1]
        if obj.partial and at(obj.raw, *steps) is None:
            # In a patch, null removes the field of the target, which may be of another kind.
            continue
        if isinstance(name, str) and is_rendered(name) and not _OF_TOOLS.fullmatch(name) and steps != _SOPS:
            yield Problem(message=finding.problem, steps=steps, help=finding.hint, key=True)


def validation_findings(obj: LintObject, context: LintContext) -> list[Finding]:
    """Return the findings of an API server that creates the object; none for partial objects. Results are cached."""
    if obj.partial:
        return []
    if obj not in context.refusals:
        context.refusals[obj] = list(validate(obj.api_version, obj.kind, obj.raw, context.release))
    return context.refusals[obj]


def problem(finding: Finding, obj: LintObject) -> Iterator[Problem]:
    """Yield a finding as a problem, unless the finding is about an unfilled placeholder."""
    steps = steps_of(obj.raw, finding.field)
    if placeholder := _only_placeholder(obj, steps):
        yield Problem(
            message=f"{finding.field}: {placeholder} is a placeholder that is not filled in, and YAML reads it as a "
            f"{'mapping' if placeholder.startswith('{') else 'list'}",
            steps=steps,
            help="fill it in",
            severity=Severity.INFO,
        )
    elif is_rendered(finding.problem) and is_rendered(at(obj.raw, *steps)):
        # The API server writes the field before the problem; an error of decoding names the field itself.
        named = bool(finding.field) and not finding.problem.startswith("json: ")
        message = f"{finding.field}: {finding.problem}" if named else finding.problem
        yield Problem(message=message, steps=steps, help=finding.hint)


def _only_placeholder(obj: LintObject, steps: Steps) -> str:
    """Return the value of a field if it is a placeholder such as ``{name}`` or ``[IMAGE]``; empty for any other value.

    In YAML, they are a mapping with one key, and a list with one item.
    """
    value = at(obj.raw, *steps)
    if not steps or not isinstance(value, dict | list) or len(value) != 1:
        return ""
    written = obj.document.source((*obj.inside, *steps))
    return written if _PLACEHOLDER.fullmatch(written) else ""


_PLACEHOLDER: Final = re.compile(rf"{IN_BRACES}|\[[A-Z][A-Z0-9_ .-]*\]")
#: The API group of PodGroups, whose priority admission checks.
_GROUPS: Final = "scheduling.k8s.io"


@Rule(
    "KS906",
    "api-server-refuses",
    Severity.ERROR,
    Stage.REFUSED,
    RuleSubject.OBJECT,
    fails="""apps/v1 Deployment web
strategy:
  rollingUpdate:
    maxSurge: 0
    maxUnavailable: 0  # <-
""",
    repair={"maxUnavailable: 0": "maxUnavailable: 1"},
)
def api_server_refuses(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """The API server's validation refuses the object, for the reason in the message.

    The rule runs the API server's validation of pods and workloads, pod groups, budgets, priority classes, claims, volumes,
    storage classes and autoscalers, in the version of the requested release. It ignores fields with unfilled placeholders,
    and partial objects such as patches. A placeholder such as ``{name}`` or ``[IMAGE]``, which YAML reads as a mapping or
    a list, is info.

    The API server refuses the object: kubectl apply and other tools stop there.

    Repair: as the message says.
    """
    for finding in validation_findings(obj, context):
        # KS907 and KS310 report what admission forbids of pods.
        if refuses(finding) and (finding.rule != FORBIDDEN or (obj.group == _GROUPS and not obj.live)):
            yield from problem(finding, obj)


#: The fields that KS310 checks.
_PRIORITY: Final = ("priority", "preemptionPolicy")


@Rule(
    "KS907",
    "pods-refused",
    Severity.ERROR,
    Stage.PODS_REFUSED,
    RuleSubject.OBJECT,
    fails="""apps/v1 Deployment web
overhead:  # <-
  cpu: 100m
""",
    repair={"overhead:  # <-\n  cpu: 100m\n": "runtimeClassName: gvisor\n"},
)
def pods_refused(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """The API server refuses the pods, whatever classes the cluster has, and accepts the workload that creates them.

    Admission sets overhead, priority and preemption policy from the classes that a pod names, and refuses pods that set
    other values: for example an ``overhead`` without a runtime class. KS310 reports problems of a priority.

    The API server accepts the workload and refuses its pods (FailedCreate): kubectl apply succeeds, and no pod is created.

    Repair: leave the field out, and name the class.
    """
    if obj.live or obj in context.owned:
        return
    for finding in validation_findings(obj, context):
        if finding.rule not in (FAILED_CREATE, FORBIDDEN) or finding.field.rpartition(".")[2] in _PRIORITY:
            continue
        for found in problem(finding, obj):
            fix = removing(obj, f"remove {found.steps[-1]}", found.steps) if found.steps else None
            yield replace(found, fix=fix)


@Rule(
    "KS908",
    "partial",
    Severity.INFO,
    None,
    RuleSubject.OBJECT,
    counted=True,
    fails="""apiVersion: apps/v1  # <-
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
""",
    passes="""apps/v1 Deployment web
replicas: 3
""",
)
def partial(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """The object is not complete: it is a patch, or a fragment that another tool completes.

    An object is partial if it is a workload of apps/v1 without a selector or labels, a workload without containers or with
    a container without an image, an object without a name, a claim without access modes, a budget with a single field, an
    object with a patch directive, or in a file that a kustomization lists as a patch. Only KS901 to KS905 and rules about
    single fields of pod templates, such as KS103 and KS121, check it, as the missing fields are at another place.

    An object that a kustomization of the run lists as a resource is checked with what the kustomizations add to it: labels
    and selectors, patches, namespaces, replicas and replacements. If they set different values, as for two environments,
    each build is checked, up to 8. If nothing completes the object, it is not partial, and KS906 reports what
    is missing. ``kschedctl lint --render DIR`` or ``kustomize build DIR | kschedctl lint -`` check each result exactly.
    Standard input is checked as it is: it is never partial.

    If no kustomization is in the folder of the file or above it, and neither the file nor its folder has "patch" in its
    name, the field is probably missing by mistake, and the API server refuses the object: the finding is a warning. In all
    other cases, it is info.
    """
    if context.manifests.is_incomplete(obj):
        yield Problem(
            message=f"{obj.partial.removeprefix('it ')}, and no kustomization is near: most rules ignore it",
            help="complete it; if it is a patch, list it in a kustomization",
            severity=Severity.WARNING,
            # A budget without a selector is accepted, and selects no pod.
            stop=None if obj.kind == "PodDisruptionBudget" else Stage.REFUSED,
        )
    elif obj.partial:
        yield Problem(
            message=f"treated as a patch, as {obj.partial}: most rules ignore it",
            help="lint the result: --render, or kustomize build DIR | kschedctl lint -",
        )


@Rule(
    "KS909",
    "live",
    Severity.INFO,
    None,
    RuleSubject.OBJECT,
    counted=True,
    fails="""v1 Pod web
uid: 4f5a  # <-
nodeName: node-1
""",
    repair={"uid: 4f5a  # <-\n": "", "nodeName: node-1\n": ""},
)
def live(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """The object was read from a cluster: it has a uid, a resource version or a status.

    The cluster sets fields that the author did not write: node name, priority, scheduling gates. Rules about these fields
    ignore the object.
    """
    if obj.live:
        metadata = obj.raw.get("metadata")
        of = metadata if isinstance(metadata, dict) else {}
        field = next((name for name in ("uid", "resourceVersion") if of.get(name)), "")
        yield Problem(
            message="read from a cluster: rules ignore fields that the cluster sets",
            steps=("metadata", field) if field else ("status",),
            key=not field,
        )


_UNUSED_IGNORE = """v1 Pod web
annotations:
  ignore.kschedctl.io/KS119: only node-1 has the device  # <-
"""


@Rule(
    "KS910",
    "unused-ignore",
    Severity.WARNING,
    None,
    RuleSubject.IGNORES,
    fails=_UNUSED_IGNORE,
    passes=_UNUSED_IGNORE + "nodeName: node-1\n",
)
def unused_ignore(ignore: Ignore, context: LintContext) -> Iterator[Problem]:
    """An ignore suppresses no finding, or names an unknown rule: the finding is gone, or the ignore is at the wrong place.

    Annotations belong in the metadata of the object or of its pod template. A comment applies to its own line or, on a line
    of its own, to the next line with content. An ignore whose last day is past suppresses nothing. The rule reports nothing
    for ignores of rules that do not run, and for those in files that cannot be read or are unfilled templates.

    Nothing is blocked; but a finding that should be ignored may be reported, or a new one may be suppressed.

    Repair: remove it, or move it to the finding.
    """
    if not ignore.unknown and (ignore.used or context.manifests.unreadable.may_have_more(ignore.file)):
        return
    message = "suppresses nothing: its rules have no finding here"
    if ignore.unknown:
        message = f'"{ignore.unknown}" is not a rule'
    elif ignore.ended is not None:
        message = f"its last day was {ignore.ended.isoformat()}"
    yield Problem(message=message, help="remove it, or move it to the finding", line=ignore.line, column=ignore.column)


@Rule(
    "KS911",
    "ignore-without-reason",
    Severity.WARNING,
    None,
    RuleSubject.IGNORES,
    on=False,
    fails="""v1 Pod web
annotations:
  ignore.kschedctl.io/KS119: ""  # <-
nodeName: node-1
""",
    repair={'""': "only node-1 has the device"},
)
def ignore_without_reason(ignore: Ignore, context: LintContext) -> Iterator[Problem]:
    """An ignore has no reason.

    Without a reason a later reader cannot know if the ignore is still needed. The rule runs only if it is selected.

    Nothing is blocked.

    Repair: add the reason, as the annotation's value or after the rule in a comment.
    """
    if not ignore.reason:
        yield Problem(message="the ignore has no reason", help="add the reason", line=ignore.line, column=ignore.column)


@Rule(
    "KS912",
    "not-an-object",
    Severity.ERROR,
    Stage.REFUSED,
    RuleSubject.FILE,
    fails="""apiVersion: v1
Kind: Pod  # <-
metadata:
  name: web
spec:
  containers:
  - name: web
    image: nginx
""",
    repair={"Kind": "kind"},
)
def not_an_object(file: LintFile, context: LintContext) -> Iterator[Problem]:
    """A document, or an item of a list, is meant as an object but has no kind or apiVersion, or a list has no items.

    The key is missing, misspelt (``Kind``, ``apiversion``, ``item``), empty, or its value is not text, or not a list. A
    document is meant as an object if it has ``metadata`` or ``spec``, and both keys in any spelling, or one of them as
    Kubernetes has it. Items of a list such as PodList need neither key. Left out are values files of charts, unfilled
    templates and the patches of kustomizations. Other rules do not check the object.

    The API server never receives the object: kubectl apply and other tools stop there.

    Repair: as the message says.
    """
    # The values of a chart have keys of any names.
    in_chart = context.manifests.unreadable.chart_of(file) and TEMPLATES not in PurePath(file.folder).parts
    if in_chart or file.name in context.manifests.kustomizations.patches:
        return
    for document in file.documents:
        for flaw in found_in(document.value):
            if isinstance(flaw, Flaw):
                region = document.region(flaw.steps, key=flaw.key)
                yield Problem(message=flaw.problem, help=flaw.hint, line=region.line, column=region.column)
