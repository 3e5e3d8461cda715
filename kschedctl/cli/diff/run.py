"""What ``diff`` does once its options are read: load both sides, decide on both, compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from kschedctl.api.pod import Pod
from kschedctl.cli.diff.options import ExitOn, arguments_against
from kschedctl.cli.diff.side import Key, Side
from kschedctl.cli.manifests import Asked, Given, Manifests, read_manifests
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.progress import tracked
from kschedctl.cli.selection import PodSelection, Scope
from kschedctl.cli.workload_names import named_workload, workload_kind
from kschedctl.cluster.records import PENDING
from kschedctl.errors import InputError, ManifestError
from kschedctl.face import SchedulingCluster
from kschedctl.report.diff.answer import Change, compare
from kschedctl.report.diff.data import Diff, Part, PodChangeData, SideOutcome
from kschedctl.report.diff.text import document, summary
from kschedctl.report.document import Document
from kschedctl.report.envelope import Compound
from kschedctl.report.frame import AnswerView
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.scheduler.missing import require_listed
from kschedctl.scheduler.pending import queue_order

#: Of so many pods the nodes of every change are told; of more only those of the first of each kind.
_FEW: Final = 50


class DiffReply(Reply):
    """One run of ``diff``.

    Parameters
    ----------
    which : PodSelection
        The pods, and the first side.
    after : ChosenCluster
        The second side.
    all_pods : bool
        Whether running pods are compared as well.
    exit_on : ExitOn
        What the exit code tells of.
    """

    def __init__(self, which: PodSelection, after: ChosenCluster, *, all_pods: bool, exit_on: ExitOn) -> None:
        self._exit_on = exit_on
        self._which = which
        self._after = after
        self._all_pods = all_pods

    def value(self) -> Compound:
        """The comparison."""
        return self._diff

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        view = AnswerView(now=datetime.now(UTC), every=wide, questions=tuple(self._questions(wide=wide)))
        return document(self._diff, view)

    def outcome(self) -> Outcome:
        """Whether nothing changes, or nobody loses; that only a score moves is no change."""
        diff = self._diff
        worse = (pod.worse for pod in diff.changed)
        more = (pod.parts != (Part.SCORES,) for pod in diff.changed)
        return Outcome(
            yes=not any(worse if self._exit_on is ExitOn.WORSE else more),
            complete=diff.before.complete and diff.after.complete,
        )

    @cached_property
    def _sides(self) -> tuple[Side, Side]:
        which, after = self._which, self._after
        if which.named and self._all_pods:
            raise InputError("pods are named and --all-pods is given", hint="give one or the other")
        names, paths = which.arguments()
        before = which.cluster
        same = after.source == before.source
        inputs = (*before.source.paths, *(() if same else after.source.paths), *after.what_ifs.sources)
        manifests = read_manifests(
            paths,
            which.options.filename or (),
            inputs,
            which.scope.given,
            validation=which.options.validation,
            max_unpacked=before.source.max_bytes,
        )
        snapshot = before.read()
        other = snapshot if same else after.read()
        old = before.needing_nodes(before.over(snapshot, manifests.others, manifests.written))
        new = after.needing_nodes(after.over(other, manifests.others, manifests.written))
        taken = manifests.taken(old)
        if new.release_choice.release != old.release_choice.release:
            taken = manifests.taken(new)
        workloads = [named for named in names if workload_kind(named)]
        of_old, of_new = _workloads((old, new), workloads, which.scope)
        return _side(before, old, taken.beside(of_old)), _side(after, new, taken.beside(of_new))

    @cached_property
    def _asked(self) -> dict[Key, Asked]:
        """The pods, each side's after the other's."""
        before, after = self._sides
        which = self._which
        pods = [name for name in which.arguments()[0] if not workload_kind(name)]
        if pods or not which.named:
            for side in (before, after):
                require_listed(side.cluster.cluster, "Pod")
        asked = {**after.given, **before.given, **{_key(one): one for one in map(self._named, pods)}}
        if not which.named:
            for side in (before, after):
                for one in which.selected(side.cluster.pods, running=self._all_pods):
                    asked.setdefault(_key(one), one)
            if not asked:
                raise which.nothing_found("name one, or give --all-pods for the running ones too")
        profiles = (side.cluster.configuration.profiles for side in self._sides)
        kept = {id(one) for one in which.answerable(list(asked.values()), *profiles)}
        return {key: one for key, one in asked.items() if id(one) in kept}

    def _named(self, name: str) -> Asked:
        """A pod that at least one of the sides has."""
        errors = []
        for side in self._sides:
            try:
                return self._which.named_pod(side.cluster.pods, name)
            except ManifestError as error:
                errors.append(error)
        raise errors[0]

    @cached_property
    def _diff(self) -> Diff:
        before, after = self._sides
        names = [side.cluster.nodes.row for side in self._sides]
        changed = tuple(self._changed())
        return Diff(
            before=before.data(),
            after=after.data(),
            summary=summary(changed, len(self._asked)),
            pods=len(self._asked),
            changed=changed,
            nodes_gone=tuple(name for name in names[0] if name not in names[1]),
            nodes_new=tuple(name for name in names[1] if name not in names[0]),
        )

    def _changed(self) -> Iterator[PodChangeData]:
        """The pods for which something changes; of what is alike each is compared once, and only the change is kept."""
        before, after = self._sides
        displaced = self._displaced()
        keys = [*displaced, *(key for key in self._asked if key not in displaced)]
        told: set[tuple[str, ...]] = set()
        few = len(keys) <= _FEW

        def tell(change: tuple[str, ...]) -> bool:
            if few or change not in told:
                told.add(change)
                return True
            return False

        changes: dict[object, Change | None] = {}
        found: dict[Key, PodChangeData] = {}
        still = after.cluster
        for key in tracked(keys, "comparing pods"):
            if key in displaced:
                new = after.answer(key)
                change = compare(before.answer(key), new, tell=tell)
                after.place(new)
            else:
                after.cluster = still
                kinds = before.kind(key), after.kind(key)
                if kinds not in changes:
                    changes[kinds] = compare(before.answer(key), after.answer(key), tell=tell)
                change = changes[kinds]
            if change is not None:
                found[key] = change.of(*key)
        return (found[key] for key in self._asked if key in found)

    def _displaced(self) -> dict[Key, None]:
        """The pods that lose their node: they compete for what is left, in the order in which they are tried."""
        before, after = (side.cluster for side in self._sides)
        keys = [
            key
            for key in self._asked
            if (was := before.pods.index.get(key)) is not None
            and (now := after.pods.index.get(key)) is not None
            and before.pods.node_row[was] >= 0
            and after.pods.node_row[now] == PENDING
        ]
        return dict.fromkeys(sorted(keys, key=lambda key: queue_order(after.pods.pod(after.pods.index[key]))))

    def _questions(self, *, wide: bool) -> Iterator[tuple[str, str]]:
        which, after, diff = self._which, self._after, self._diff
        if diff.changed and not wide:
            every = ("--all-pods",) if self._all_pods else ()
            yield (
                "Node by node",
                which.command("diff", None, *every, *arguments_against(which.cluster, after), "-o", "wide"),
            )
        still_there = [pod for pod in diff.changed if pod.after.outcome is not SideOutcome.ABSENT]
        if still_there:
            pod = still_there[0]
            given = self._sides[1].given.get((pod.namespace, pod.name))
            other = replace(which, cluster=after)
            yield "What comes after", other.command("explain", given or Asked(Pod(), (pod.key,)))


def _key(asked: Asked) -> Key:
    return asked.pod.metadata.namespace, asked.pod.metadata.name


def _workloads(
    clusters: tuple[SchedulingCluster, SchedulingCluster], names: Sequence[str], scope: Scope
) -> tuple[list[Given], list[Given]]:
    """The workloads of each side that arguments name; at least one of the sides has each."""
    found: tuple[list[Given], list[Given]] = ([], [])
    for name in names:
        errors = []
        for cluster, given in zip(clusters, found, strict=True):
            try:
                given.append(named_workload(cluster.cluster, name, scope))
            except ManifestError as error:
                errors.append(error)
        if len(errors) == len(clusters):
            raise errors[0]
    return found


def _side(chosen: ChosenCluster, cluster: SchedulingCluster, manifests: Manifests) -> Side:
    """A side with the pods that manifests and workloads bring into it; those of a DaemonSet go by their nodes."""
    cluster, asked = manifests.pods(cluster)
    given = {}
    for one in asked:
        metadata = one.pod.metadata
        name = f"{one.workload.name} on {one.node}" if one.workload is not None and one.node else metadata.name
        given[metadata.namespace, name] = one
    return Side(cluster, chosen.config, given)
