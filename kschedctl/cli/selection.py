"""Which pods of the snapshot a command is about: named or selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kschedctl.api.defaults import DEFAULT_NAMESPACE
from kschedctl.api.pod import Pod
from kschedctl.api.selectors import matches
from kschedctl.cli.options.label_query import parse_label_query
from kschedctl.cluster.pods import PENDING, Pods
from kschedctl.errors import InputError
from kschedctl.report.explain.data import WorkloadData
from kschedctl.snapshot.pod_choice import find_pod, is_manifest

_POD_PREFIXES = ("pod/", "pods/", "po/")


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod that is asked about.

    Attributes
    ----------
    pod : Pod
        The pod.
    arguments : tuple of str
        The arguments that ask for it alone.
    where : str
        Where it was read, where that is a manifest.
    workload : WorkloadData or None
        What makes it, where a manifest has that instead.
    node : str
        The only node that it is for, where a DaemonSet makes it.
    """

    pod: Pod
    arguments: tuple[str, ...]
    where: str = ""
    workload: WorkloadData | None = None
    node: str = ""


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell manifests from pods among arguments."""
    manifests = [text for text in arguments if is_manifest(text)]
    return manifests, [text for text in arguments if text not in manifests]


def named_pod(pods: Pods, text: str, namespace: str, *, everywhere: bool) -> Asked:
    """The pod of the snapshot that an argument names.

    Raises
    ------
    InputError
        Where there is none, or the argument is not a pod's name.
    """
    prefix = next((prefix for prefix in _POD_PREFIXES if text.startswith(prefix)), "")
    own, slash, name = text.removeprefix(prefix).rpartition("/")
    if not name or "/" in own or (prefix and slash):
        raise InputError(f'"{text}" names no pod', hint="give NAMESPACE/NAME, pod/NAME, NAME or the path of a manifest")
    if namespace and own and own != namespace:
        raise InputError(f'"{text}" is of another namespace than -n {namespace}')
    wanted = own or namespace or (None if everywhere else DEFAULT_NAMESPACE)
    pod = find_pod(pods, name, wanted)
    return Asked(pod, (pod.key,))


def selected_pods(pods: Pods, selector: str, namespace: str, *, everywhere: bool) -> list[Asked]:
    """The pods with some labels, or without a selector those that are pending.

    Raises
    ------
    InputError
        Where no pod has the labels, or the selector is wrong.
    """
    wanted = parse_label_query(selector) if selector else None
    chosen = None if everywhere else namespace or DEFAULT_NAMESPACE
    found = []
    for index, record in enumerate(pods.records):
        if chosen is not None and record.metadata.namespace != chosen:
            continue
        if pods.node_row[index] == PENDING if wanted is None else matches(wanted, record.metadata.labels):
            found.append(Asked(pods.pod(index), (pods.key(index),)))
    if not found:
        where = "any namespace" if chosen is None else f"namespace {chosen}"
        what = f"has the labels {selector}" if selector else "is pending"
        hint = "name one: NAMESPACE/NAME, or a manifest" + ("" if everywhere else "; -A looks in all namespaces")
        raise InputError(f"no pod in {where} {what}", hint=hint)
    return found
