"""What ``diff`` does once its options are read: load both sides, decide on both, compare, print."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kschedctl.api.pod import Pod
from kschedctl.api.selectors import matches
from kschedctl.cli.asking import PodOptions
from kschedctl.cli.diff.side import Key, Side, arguments_against
from kschedctl.cli.manifests import Manifests, read_manifests
from kschedctl.cli.options.cluster import ClusterOptions
from kschedctl.cli.options.label_query import parse_label_query
from kschedctl.cli.output import Form, OutputForm
from kschedctl.cli.selection import Asked, named_pod, split_arguments
from kschedctl.cli.streams import write
from kschedctl.cli.terminal import captured, open_console, program
from kschedctl.cluster.pods import PENDING
from kschedctl.errors import InputError, ManifestError
from kschedctl.report.diff.answer import Change, compare
from kschedctl.report.diff.data import Diff, Outcome, PodChangeData
from kschedctl.report.diff.text import DiffView, print_diff
from kschedctl.snapshot.load import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """The options of ``diff``, read. ``which.cluster`` is the first side, ``after`` the second."""

    which: PodOptions
    after: ClusterOptions
    all_pods: bool
    no_color: bool


class Differing:
    """One run of ``diff``.

    Parameters
    ----------
    options : DiffOptions
        What is asked.
    form : OutputForm
        How it is answered.
    """

    def __init__(self, options: DiffOptions, form: OutputForm) -> None:
        self._options = options
        self._form = form

    def run(self) -> bool:
        """Compare, print, and say whether anything changes."""
        which = self._options.which
        if which.named and (which.selector or self._options.all_pods):
            other = "a selector" if which.selector else "--all-pods"
            raise InputError(f"pods are named and {other} is given", hint="give one or the other")
        after = self._options.after
        paths, names = split_arguments(which.pods)
        inputs = (*which.cluster.paths, *(after.paths if after.paths != which.cluster.paths else ()))
        manifests = read_manifests(paths, which.filenames, (*inputs, *after.what_ifs.sources), which.namespace)
        snapshot = which.cluster.read_snapshot()
        same = after.paths == which.cluster.paths
        sides = (
            _side(which.cluster, snapshot, manifests),
            _side(after, snapshot if same else after.read_snapshot(), manifests),
        )
        given = {**sides[1].given, **sides[0].given}
        keys = [*given, *(self._named(sides, name) for name in names)] or list(self._selected(sides))
        if not keys:
            raise self._nothing_found()
        diff = self._compare(sides, list(dict.fromkeys(keys)))
        self._print(diff, given)
        return bool(diff.changed)

    def _named(self, sides: tuple[Side, Side], name: str) -> Key:
        which = self._options.which
        errors = []
        for side in sides:
            try:
                pod = named_pod(side.cluster.pods, name, which.namespace, everywhere=which.all_namespaces).pod
            except ManifestError as error:
                errors.append(error)
            else:
                return pod.metadata.namespace, pod.metadata.name
        raise errors[0]

    def _selected(self, sides: tuple[Side, Side]) -> Iterator[Key]:
        """The pods that are asked for without a name, each side's after the other's."""
        which = self._options.which
        selector = parse_label_query(which.selector) if which.selector else None
        for side in sides:
            pods, profiles = side.cluster.pods, side.cluster.configuration.profiles
            for index, record in enumerate(pods.records):
                metadata = record.metadata
                if which.namespace and metadata.namespace != which.namespace:
                    continue
                if selector is not None:
                    asked = matches(selector, metadata.labels)
                else:
                    asked = self._options.all_pods or pods.node_row[index] == PENDING
                if asked and record.spec.scheduler_name in profiles:
                    yield metadata.namespace, metadata.name

    def _nothing_found(self) -> InputError:
        which = self._options.which
        what = f"has the labels {which.selector}" if which.selector else "is pending on either side"
        where = f" in namespace {which.namespace}" if which.namespace else ""
        return InputError(f"no pod{where} {what}", hint="name one, or give --all-pods for the running ones too")

    def _compare(self, sides: tuple[Side, Side], keys: list[Key]) -> Diff:
        before, after = sides
        changes: dict[tuple[object, object], Change | None] = {}
        changed: list[PodChangeData] = []
        for key in keys:
            (old_kind, old), (new_kind, new) = (side.answer(key) for side in sides)
            kinds = old_kind, new_kind
            if kinds not in changes:
                changes[kinds] = compare(old, new)
            change = changes[kinds]
            if change is not None:
                changed.append(change.of(*key))
        names = [side.cluster.nodes.row for side in sides]
        return Diff(
            before=before.data(),
            after=after.data(),
            pods=len(keys),
            changed=tuple(changed),
            nodes_gone=tuple(name for name in names[0] if name not in names[1]),
            nodes_new=tuple(name for name in names[1] if name not in names[0]),
        )

    def _print(self, diff: Diff, given: dict[Key, Asked]) -> None:
        if not self._form.is_text:
            write(self._form.render(diff, "".join(f"{pod.key}\n" for pod in diff.changed)))
            return
        wide = self._form.form is Form.WIDE
        view = DiffView(now=datetime.now(UTC), wide=wide, commands=tuple(self._questions(diff, given, wide=wide)))
        console = open_console(no_color=self._options.no_color)
        write(captured(console, lambda c: print_diff(c, diff, view)))

    def _questions(self, diff: Diff, given: dict[Key, Asked], *, wide: bool) -> Iterator[tuple[str, str]]:
        which, after = self._options.which, self._options.after
        if diff.changed and not wide:
            words = [*program().split(), "diff", *which.pods]
            for name in which.filenames:
                words += ["-f", name]
            if which.namespace:
                words += ["-n", which.namespace]
            if which.selector:
                words += ["-l", which.selector]
            if self._options.all_pods:
                words += ["--all-pods"]
            words += [*which.cluster.arguments(), *arguments_against(which.cluster, after), "-o", "wide"]
            yield "Node by node", shlex.join(words)
        still_there = [pod for pod in diff.changed if pod.after.outcome is not Outcome.ABSENT]
        if still_there:
            pod = still_there[0]
            one = given.get((pod.namespace, pod.name)) or Asked(Pod(), (pod.key,))
            asked = replace(which, cluster=after, selector="", namespace=which.namespace if given else "")
            yield "What comes after", asked.command("explain", one)


def _side(options: ClusterOptions, snapshot: Snapshot, manifests: Manifests) -> Side:
    """A side with the pods that manifests bring into it; those of a DaemonSet go by their nodes."""
    cluster, asked = manifests.pods(options.over(snapshot, manifests.others))
    given = {}
    for one in asked:
        metadata = one.pod.metadata
        name = f"{one.workload.name} on {one.node}" if one.workload is not None and one.node else metadata.name
        given[metadata.namespace, name] = one
    return Side(cluster, options, given)
