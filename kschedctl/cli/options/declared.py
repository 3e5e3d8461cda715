"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer

SNAPSHOT_VARIABLE = "KSCHEDCTL_SNAPSHOT"


def config_file(path: str) -> str:
    """The path of a configuration.

    Raises
    ------
    typer.BadParameter
        Where it is standard input, which is for snapshots and manifests.
    """
    if path == "-":
        raise typer.BadParameter("a configuration is not read from standard input (-): name a file")
    return path


SnapshotOption = Annotated[
    list[str] | None,
    typer.Option(
        "--snapshot",
        metavar="PATH",
        help="The cluster: a file, folder, archive or - for standard input. Repeatable. "
        f"Default: ${SNAPSHOT_VARIABLE}, else the cluster of a kubectl context.",
        show_default=False,
    ),
]
ContextOption = Annotated[
    str,
    typer.Option(
        "--context",
        metavar="NAME",
        help="Without a snapshot: the kubectl context to ask. Default: the current one.",
        show_default=False,
    ),
]
KubeconfigOption = Annotated[
    str,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="Without a snapshot: where the contexts are. Default: as for kubectl.",
        show_default=False,
    ),
]
VersionOption = Annotated[
    str,
    typer.Option(
        "--kubernetes-version",
        metavar="1.34|1.35|1.36",
        help="Whose rules apply. Default: those of the cluster's own version.",
        show_default=False,
    ),
]
GatesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-gates",
        metavar="NAME=true,...",
        help="The scheduler's feature gates, as kube-scheduler takes them.",
        show_default=False,
    ),
]
ConfigOption = Annotated[
    str,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The scheduler's KubeSchedulerConfiguration.",
        show_default=False,
        callback=config_file,
    ),
]
PodsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="POD",
        help="NAMESPACE/NAME, pod/NAME or NAME of a pod in the snapshot, a manifest, or - for standard input.",
        show_default=False,
    ),
]
FilenameOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filename", "-f", metavar="FILE", help="Manifests with pods or workloads: files, folders or -. Repeatable."
    ),
]
NamespaceOption = Annotated[
    str, typer.Option("--namespace", "-n", metavar="NAMESPACE", help="Where named pods are.", show_default=False)
]
AllNamespacesOption = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Look in all namespaces.")]
SelectorOption = Annotated[
    str,
    typer.Option(
        "--selector",
        "-l",
        metavar="SELECTOR",
        help="All pods with these labels, such as app=web.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="wide|json|yaml|name|jsonpath=...",
        help="Another form of the answer.",
        show_default=False,
    ),
]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="No colours, as with NO_COLOR.")]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit with 3 where something that bears on the answer is not known.")
]
NoAdmissionOption = Annotated[
    bool, typer.Option("--no-admission", help="Take new pods as they are written, with defaults but no admission.")
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="Pick one of the nodes that chance decides among.", show_default=False),
]


def snapshot_paths(given: Sequence[str] | None, context: str = "", kubeconfig: str = "") -> list[str]:
    """The snapshot's paths: as given, else those of the environment variable; none where a running cluster is meant.

    Raises
    ------
    typer.BadParameter
        Where a snapshot and a running cluster are both given.
    """
    live = "--context" if context else "--kubeconfig" if kubeconfig else ""
    if given and live:
        raise typer.BadParameter("a snapshot is given as well: give one or the other", param_hint=live)
    if given or live:
        return list(given or ())
    return [path for path in os.environ.get(SNAPSHOT_VARIABLE, "").split(os.pathsep) if path]


def feature_gates(given: Sequence[str] | None) -> dict[str, bool]:
    """Feature gates by name.

    Raises
    ------
    typer.BadParameter
        Where a text is not ``NAME=true`` or ``NAME=false``.
    """
    gates: dict[str, bool] = {}
    for pair in (pair for text in given or () for pair in text.split(",") if pair.strip()):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or value.lower() not in ("true", "false"):
            raise typer.BadParameter(f'"{pair}" is not NAME=true or NAME=false', param_hint="--feature-gates")
        gates[name] = value.lower() == "true"
    return gates
