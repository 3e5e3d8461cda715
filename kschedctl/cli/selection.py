"""Which pods a command is about: one meaning of names, ``-n``, ``-A`` and ``-l`` for all of them, that of kubectl."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from kschedctl.api.meta import ApiObject, ObjectMeta
from kschedctl.api.selectors import matches
from kschedctl.api.wording import listed
from kschedctl.cli.manifests import Asked, read_manifests
from kschedctl.cli.options.cluster import ChosenCluster, Source
from kschedctl.cli.options.label_query import parse_label_query
from kschedctl.cli.options.pods import PodOptions, ScopeOptions
from kschedctl.cli.shell import command_line
from kschedctl.cli.streams import note
from kschedctl.cli.workload_names import named_workload, workload_kind
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PENDING
from kschedctl.errors import InputError, ManifestError
from kschedctl.face import SchedulingCluster
from kschedctl.scheduler.missing import require_listed
from kschedctl.snapshot.pod_choice import find_pod, is_manifest
from kschedctl.snapshot.validation import Validation

T = TypeVar("T", bound=ApiObject)
POD_PREFIXES: Final = ("pod/", "pods/", "po/")


@dataclass(frozen=True, slots=True)
class Scope:
    """The namespaces that are meant.

    Attributes
    ----------
    given : str
        That of ``-n``; empty for none.
    everywhere : bool
        Whether all are meant; ``-n`` then means nothing.
    source : Source
        The cluster, whose context may name one.
    """

    given: str
    everywhere: bool
    source: Source

    @classmethod
    def of(cls, options: ScopeOptions, source: Source) -> Scope:
        """Read the options."""
        return cls("" if options.all_namespaces else options.namespace, options.all_namespaces, source)

    @property
    def namespace(self) -> str | None:
        """The only namespace that is meant; ``None`` for all."""
        return None if self.everywhere else self.given or self.source.namespace

    def contains(self, metadata: ObjectMeta) -> bool:
        """Whether an object is in it."""
        namespace = self.namespace
        return namespace is None or metadata.namespace == namespace

    def split(self, text: str, what: str, forms: str, prefixes: Sequence[str] = ()) -> tuple[str, str | None]:
        """Tell the name from the namespace of an argument.

        Parameters
        ----------
        text : str
            ``NAME``, ``NAMESPACE/NAME``, or a kind's prefix and ``NAME``.
        what, forms : str
            What it should name, and the forms that there are, for errors.
        prefixes : sequence of str
            How the kind may stand before the name.

        Returns
        -------
        namespace : str or None
            Where it is meant to be; ``None`` for anywhere.

        Raises
        ------
        InputError
            Where it is no name, or one of another namespace.
        """
        prefix = next((prefix for prefix in prefixes if text.startswith(prefix)), "")
        own, slash, name = text.removeprefix(prefix).rpartition("/")
        if not name or "/" in own or (prefix and slash):
            raise InputError(f'"{text}" names no {what}', hint=f"give {forms}")
        if self.given and own and own != self.given:
            raise InputError(f'"{text}" is of another namespace than -n {self.given}')
        return name, own or self.namespace

    def __str__(self) -> str:
        namespace = self.namespace
        return "any namespace" if namespace is None else f"namespace {namespace}"


@dataclass(frozen=True, slots=True)
class PodSelection:
    """The pods that options mean."""

    options: PodOptions
    cluster: ChosenCluster

    @property
    def named(self) -> bool:
        """Whether pods are named, not selected."""
        return bool(self.options.pods or self.options.filename)

    @property
    def scope(self) -> Scope:
        """The namespaces that are meant."""
        return Scope.of(self.options, self.cluster.source)

    def load(self) -> tuple[SchedulingCluster, list[Asked]]:
        """Load the cluster and find the pods.

        Raises
        ------
        KschedctlError
            Where the cluster or a manifest cannot be read, or there is no such pod, or it cannot be known whether.
        """
        names, paths = self.arguments()
        manifests = read_manifests(
            paths,
            self.options.filename or (),
            self.cluster.inputs,
            self.scope.given,
            validation=self.options.validation,
            max_unpacked=self.cluster.source.max_bytes,
        )
        cluster = self.cluster.load(manifests.others, manifests.written)
        pods = [name for name in names if not workload_kind(name)]
        if pods or not self.named:
            require_listed(cluster.cluster, "Pod")
        cluster = self.cluster.needing_nodes(cluster)
        workloads = [named_workload(cluster.cluster, name, self.scope) for name in names if workload_kind(name)]
        cluster, given = manifests.beside(workloads).pods(cluster)
        asked = [*given, *(self.named_pod(cluster.pods, name) for name in pods)]
        if not self.named:
            asked = self.selected(cluster.pods)
            if not asked:
                raise self.nothing_found()
        return cluster, self.answerable(asked, cluster.configuration.profiles)

    def arguments(self) -> tuple[list[str], list[str]]:
        """The names among the arguments, and the manifests.

        Raises
        ------
        InputError
            Where there are some and a selector as well.
        """
        if self.named and self.options.selector:
            raise InputError("pods are named and a selector is given", hint="give one or the other")
        arguments = self.options.pods or ()
        paths = [text for text in arguments if is_manifest(text)]
        return [text for text in arguments if text not in paths], paths

    def named_pod(self, pods: Pods, text: str) -> Asked:
        """The pod of the snapshot that an argument names.

        Raises
        ------
        InputError
            Where there is none, or the argument is not a pod's name.
        """
        return named_pod(pods, text, self.scope)

    def selected(self, pods: Pods, *, running: bool = False) -> list[Asked]:
        """The pods with the labels that are asked for, else those that are pending, in the order of the snapshot.

        Parameters
        ----------
        pods : Pods
            The pods of the snapshot.
        running : bool
            Whether those that have a node are meant as well where no labels are given.
        """
        query = parse_label_query(self.options.selector) if self.options.selector else None
        scope = self.scope
        asked = []
        for index, record in enumerate(pods.records):
            if not scope.contains(record.metadata):
                continue
            if running or pods.node_row[index] == PENDING if query is None else matches(query, record.metadata.labels):
                asked.append(Asked(pods.pod(index), (pods.key(index),)))
        return asked

    def nothing_found(self, hint: str = "name one: NAMESPACE/NAME, or a manifest") -> InputError:
        """What to say where no pod is selected."""
        selector = self.options.selector
        what = f"has the labels {selector}" if selector else "is pending"
        elsewhere = "" if self.options.all_namespaces else "; -A looks in all namespaces"
        return InputError(f"no pod in {self.scope} {what}", hint=f"{hint}{elsewhere}")

    def answerable(self, asked: list[Asked], *profiles: Container[str]) -> list[Asked]:
        """The pods that one of the profiles is responsible for; the others are said on standard error.

        Where none is left of pods that are named, they are all kept: deciding for them tells what is wrong.

        Raises
        ------
        InputError
            Where none is left of those that are selected.
        """
        kept = [one for one in asked if any(one.pod.spec.scheduler_name in known for known in profiles)]
        if not kept and self.named:
            return asked
        others: dict[str, list[str]] = defaultdict(list)
        for one in asked:
            if one not in kept:
                others[one.pod.spec.scheduler_name].append(one.pod.key)
        text = "; ".join(f"{listed(keys)} ({name})" for name, keys in others.items())
        if not kept:
            hint = "give a configuration that has its profile: --config"
            raise InputError(f"another scheduler is responsible for all of them: {text}", hint=hint)
        if others:
            note(f"passed over, as another scheduler is responsible: {text}")
        return kept

    def command(self, name: str, asked: Asked | None, *words: str) -> str:
        """A command about one of the pods, or about all that are selected, to be copied.

        Parameters
        ----------
        name : str
            The command.
        asked : Asked or None
            The pod; ``None`` for all.
        *words : str
            What else stands behind it.
        """
        options = self.options
        # A pod's name has its namespace; what a manifest has may need it.
        about: list[str] = list(asked.arguments) if asked is not None else []
        if asked is None:
            about += options.pods or ()
            about += [word for path in options.filename or () for word in ("-f", path)]
        if options.namespace and (asked is None or asked.where):
            about += ("-n", options.namespace)
        if asked is None:
            about += ("-A",) if options.all_namespaces else ()
            about += ("-l", options.selector) if options.selector else ()
        if options.validation is not Validation.STRICT:
            about += ("--validate", options.validation)
        return command_line(name, *about, *self.cluster.arguments(), *words)


def named_pod(pods: Pods, text: str, scope: Scope) -> Asked:
    """The pod of the snapshot that an argument names.

    Raises
    ------
    InputError
        Where there is none, or the argument is not a pod's name.
    """
    forms = "NAMESPACE/NAME, pod/NAME, NAME or the path of a manifest"
    name, namespace = scope.split(text, "pod", forms, POD_PREFIXES)
    try:
        pod = find_pod(pods, name, namespace)
    except ManifestError as error:
        if Path(text).is_dir():
            raise ManifestError(error.findings[0].problem, hint=f"the folder of that name is {text}/") from None
        raise
    return Asked(pod, (pod.key,))


def in_scope(objects: Iterable[T], scope: Scope, selector: str) -> list[T]:
    """The objects in a scope that have some labels."""
    query = parse_label_query(selector) if selector else None
    return [
        obj
        for obj in objects
        if scope.contains(obj.metadata) and (query is None or matches(query, obj.metadata.labels))
    ]
