"""Options that belong to no group, or to several, and how their values are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from kschedctl.cli import completion
from kschedctl.releases.release import RELEASES

#: A number of seconds beyond these is a slip of the finger.
_MOST_DIGITS: Final = 10


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


def namespace_option(text: str) -> Any:
    """The option that names a namespace."""
    return typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help=text,
        show_default=False,
        autocompletion=completion.namespaces,
    )


def version_option(flag: str, text: str) -> Any:
    """The option that names a release."""
    return typer.Option(
        flag, metavar="|".join(RELEASES), help=text, show_default=False, autocompletion=completion.releases
    )


def gates_option(flag: str, text: str) -> Any:
    """The option that sets feature gates."""
    return typer.Option(flag, metavar="NAME=true,...", help=text, show_default=False)


def config_option(flag: str, text: str) -> Any:
    """The option that names a configuration."""
    return typer.Option(flag, metavar="FILE", help=text, show_default=False, callback=config_file)


def size(text: str) -> str:
    """The value of ``--max-unpacked``.

    Raises
    ------
    typer.BadParameter
        Where it is no size.
    """
    if not text:
        return text
    from kschedctl.errors import InputError

    try:
        max_bytes(text)
    except InputError as error:
        (finding,) = error.findings
        raise typer.BadParameter(f"{finding.problem}: {finding.hint}") from None
    return text


def max_bytes(text: str) -> int | None:
    """How much is unpacked at most, in bytes; nothing for the default.

    Raises
    ------
    InputError
        Where the text is no size.
    """
    if not text:
        return None
    from kschedctl.snapshot.unpacking import parse_size

    return parse_size(text)


#: The default of ``--validate``.
STRICT: Final = "strict"


def validation(text: str) -> str:
    """The value of ``--validate``.

    Raises
    ------
    typer.BadParameter
        Where it is none.
    """
    from kschedctl.snapshot.validation import Validation

    try:
        return Validation.of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


ValidateOption = Annotated[
    str,
    typer.Option(
        "--validate",
        metavar="strict|warn|ignore",
        callback=validation,
        help="What becomes of fields of manifests that an API server does not know, or that are given twice.",
    ),
]
VersionOption = Annotated[
    str, version_option("--kubernetes-version", "Whose rules apply. Default: those of the cluster's own version.")
]
GatesOption = Annotated[
    list[str] | None,
    gates_option("--feature-gates", "The scheduler's feature gates, as kube-scheduler takes them."),
]
ConfigOption = Annotated[str, config_option("--config", "The scheduler's KubeSchedulerConfiguration.")]
MaxUnpackedOption = Annotated[
    str,
    typer.Option(
        "--max-unpacked",
        metavar="SIZE",
        help="How much is unpacked at most, or held of a file, such as 10Gi. Default: 4Gi, and nothing to more than "
        "250 times its size.",
        show_default=False,
        callback=size,
    ),
]
CallExtendersOption = Annotated[
    bool,
    typer.Option(
        "--call-extenders",
        help="Ask the configuration's extenders over HTTP, as kube-scheduler does: filter, prioritize and preempt.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="Pick one of the nodes that chance decides among.", show_default=False),
]


ContextOption = Annotated[
    str,
    typer.Option(
        "--context", metavar="NAME", help="The kubectl context. Default: the current one.", show_default=False
    ),
]
KubeconfigOption = Annotated[
    str,
    typer.Option(
        "--kubeconfig", metavar="FILE", help="Where the contexts are. Default: as for kubectl.", show_default=False
    ),
]
NamespaceOption = Annotated[str, namespace_option("The namespace. Default: as for kubectl.")]
AllNamespacesOption = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Look in all namespaces, whatever -n says.")
]
SelectorOption = Annotated[
    str,
    typer.Option(
        "--selector",
        "-l",
        metavar="SELECTOR",
        help="All with these labels, such as app=web.",
        show_default=False,
    ),
]
IdentityOption = Annotated[
    str,
    typer.Option(
        "--identity",
        metavar="NAME",
        help="Who we are, unique among the candidates. Default: the host's name and a random id.",
        show_default=False,
    ),
]


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


def request_seconds(text: str) -> float:
    """How long a request may take: seconds, or a duration as Go reads it, as for kubectl.

    Raises
    ------
    typer.BadParameter
        Where it is neither, or below zero.
    """
    from kschedctl.api.duration import Duration

    if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS:
        return float(text)
    try:
        seconds = Duration.parse(text).nanoseconds / 1e9
    except ValueError:
        seconds = -1.0
    if seconds < 0:
        raise typer.BadParameter(f'"{text}" is no time such as 30s, 2m or 0', param_hint="--request-timeout")
    return seconds
