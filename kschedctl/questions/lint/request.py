"""The request of ``lint``: it reads settings, selects rules and loads the cluster."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kschedctl.common.errors import ConfigError, InputError
from kschedctl.common.findings import Severity
from kschedctl.linter.manifest_set import LintManifests
from kschedctl.linter.rule import Rule
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest
from kschedctl.linter.selection import selected_rules
from kschedctl.linter.settings import Settings, chosen_settings
from kschedctl.objects.releases.choice import choose_release
from kschedctl.questions.handle import AnalysisHandle

if TYPE_CHECKING:
    from kschedctl.linter.overlay import ClusterOverlay
    from kschedctl.trials.loaded_cluster import LoadedCluster


#: The rule behind ``--fail-zone``.
_FAIL_ZONE: Final = "KS511"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChoice:
    """The rules that are checked, and the findings that count."""

    #: Codes, prefixes of codes, or names of rules.
    select: Sequence[str] = ()
    #: Codes, prefixes of codes, or names of rules.
    extend_select: Sequence[str] = ()
    #: Codes, prefixes of codes, or names of rules.
    ignore: Sequence[str] = ()
    #: The least severe findings that are reported.
    severity: Severity = Severity.INFO
    #: True if annotations, comments and settings can suppress findings.
    ignores: bool = True
    #: The settings file; empty for the nearest one in the folders above.
    settings: str = ""
    #: The file of findings that do not count; empty for the one that the settings name.
    baseline: str = ""
    #: True if the baseline is about to be written.
    update_baseline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestChoice:
    """The manifests, and the cluster that they are checked against."""

    #: Files, folders and archives; ``-`` is standard input.
    paths: tuple[str, ...]
    #: The cluster: paths of a snapshot, or a loaded cluster; empty for the one that the settings name, or none.
    cluster: "tuple[str, ...] | LoadedCluster" = ()
    #: The cluster in a snapshot that holds several, by its name or its path inside; empty for that of the
    #: settings.
    cluster_name: str = ""
    #: The namespace of objects that name none.
    namespace: str = ""
    #: The release and the configuration, as for ``kschedctl.load``; a loaded cluster has its own.
    kubernetes_version: str = ""
    #: The feature gates that differ from their defaults; a loaded cluster has its own.
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    #: The release and the configuration, as for ``kschedctl.load``; a loaded cluster has its own.
    config: str = ""
    #: True to check whether all pods fit without one of the zones.
    fail_zone: bool = False
    #: True to check each file by itself.
    single_files: bool = False
    #: True to render kustomizations and charts first.
    render: bool = False
    #: The name of standard input in findings.
    stdin_name: str = ""
    #: The most bytes to unpack; ``None`` for the default.
    max_bytes: int | None = None


def lint_request(manifests: ManifestChoice, choice: RuleChoice, handle: AnalysisHandle) -> LintRequest:
    """Read the settings, select the rules, load the cluster, and return the request of a run.

    Raises InputError if a path, a rule or the settings are wrong, there is no such baseline, or the file to update
        is no baseline.
    Raises UnsupportedError if a version or feature gate is not modelled.
    """
    settings = chosen_settings(choice.settings, manifests.paths)
    asked_cluster = manifests.cluster or tuple(map(settings.relative, settings.snapshot))
    rules = _rules(manifests, choice, settings, complete=settings.complete or bool(asked_cluster))
    with_cluster = rules if asked_cluster else _rules(manifests, choice, settings, complete=True)
    baseline = choice.baseline or settings.relative(settings.baseline)
    if baseline and not choice.update_baseline and not Path(baseline).exists():
        hint = "kschedctl lint --baseline FILE --update-baseline creates it"
        raise InputError("the baseline does not exist", where=baseline, hint=hint)
    if baseline and choice.update_baseline:
        from kschedctl.linter.ignores import Baseline

        try:
            if Path(baseline).is_file():
                Baseline.read(baseline)
        except ConfigError:
            # The file may be a manifest.
            hint = "name another file, or delete this one"
            raise InputError("is not a baseline, so it is not overwritten", where=baseline, hint=hint) from None
    name = manifests.cluster_name or settings.cluster
    cluster = _load(asked_cluster, name, manifests, handle) if isinstance(asked_cluster, tuple) else asked_cluster
    release = (
        cluster.release_choice.release
        if cluster is not None
        else choose_release(manifests.kubernetes_version, "", ()).release.with_features(manifests.feature_gates)
    )
    return LintRequest(
        rules=rules,
        not_run=[rule for rule in with_cluster if cluster is None and (rule.snapshot or rule not in rules)],
        settings=settings,
        namespace=manifests.namespace,
        release=release,
        overlay=_overlay_of(cluster, manifests.namespace) if cluster else None,
        least=choice.severity,
        ignores=choice.ignores,
        baseline=baseline,
        keep_baseline=not choice.update_baseline,
        stdin_name=manifests.stdin_name,
        max_unpacked=manifests.max_bytes,
        single_files=manifests.single_files,
        render=manifests.render,
    )


def _rules(manifests: ManifestChoice, choice: RuleChoice, settings: Settings, *, complete: bool) -> list[Rule]:
    """Return the rules that options and settings select, if the manifest set is complete or not."""
    rules = selected_rules(
        _split_at_commas(choice.select) or settings.select,
        (*settings.extend_select, *_split_at_commas(choice.extend_select)),
        (*settings.ignore, *_split_at_commas(choice.ignore)),
        complete=complete,
    )
    return [rule for rule in RULES if rule in rules or (manifests.fail_zone and rule.code == _FAIL_ZONE)]


def _load(
    paths: tuple[str, ...], name: str, manifests: ManifestChoice, handle: AnalysisHandle
) -> "LoadedCluster | None":
    if not paths:
        return None
    # Without a cluster lint needs no engine.
    from kschedctl.questions.loading import loaded_cluster, read_snapshot

    with handle.busy("reading the snapshot"):
        return loaded_cluster(
            read_snapshot(*paths, max_unpacked=manifests.max_bytes, cluster=name),
            kubernetes_version=manifests.kubernetes_version,
            feature_gates=manifests.feature_gates,
            config=manifests.config or None,
        )


def _overlay_of(cluster: "LoadedCluster", namespace: str) -> "Callable[[LintManifests], ClusterOverlay]":
    from kschedctl.linter.overlay import ClusterOverlay

    return lambda given: ClusterOverlay(cluster, given, namespace=namespace)


def _split_at_commas(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())
