"""Options that belong to no group or to several, and the parsers of their values."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

import typer

from kschedctl.cli import completion
from kschedctl.cli.completion import CLUSTER_VARIABLE, SNAPSHOT_VARIABLE
from kschedctl.cli.options.declared import OptionGroup
from kschedctl.cli.streams import ColorWhen
from kschedctl.objects.releases.names import RELEASE_NAMES
from kschedctl.output.forms import Form, FormError, FormKind, parse_form, usage

#: A plain number of seconds has fewer digits than this; a longer one is a typing error.
_MOST_DIGITS: Final = 10


def config_file(path: str) -> str:
    """Return the path of a configuration.

    Raises typer.BadParameter if the path is standard input, which is reserved for snapshots and manifests.
    """
    if path == "-":
        raise typer.BadParameter("a configuration is not read from standard input (-): name a file")
    return path


def namespace_option(text: str) -> Any:
    """Create the option that sets the namespace."""
    return typer.Option(
        "--namespace", "-n", metavar="NAMESPACE", help=text, show_default=False, autocompletion=completion.namespaces
    )


def version_option(flag: str, text: str) -> Any:
    """Create an option that sets the release."""
    return typer.Option(
        flag, metavar="|".join(RELEASE_NAMES), help=text, show_default=False, autocompletion=completion.releases
    )


def gates_option(flag: str, text: str) -> Any:
    """Create an option that sets feature gates."""
    return typer.Option(flag, metavar="NAME=true,...", help=text, show_default=False)


def config_option(flag: str, text: str) -> Any:
    """Create an option that sets the configuration file."""
    return typer.Option(flag, metavar="FILE", help=text, show_default=False, callback=config_file)


def size(text: str) -> str:
    """Check and return the value of ``--max-unpacked``.

    Raises typer.BadParameter if the text is no size.
    """
    if not text:
        return text
    from kschedctl.common.errors import InputError

    try:
        max_bytes(text)
    except InputError as error:
        (finding,) = error.findings
        raise typer.BadParameter(f"{finding.problem}: {finding.hint}") from None
    return text


def max_bytes(text: str) -> int | None:
    """Return the limit of unpacked data in bytes; ``None`` for the default.

    Raises InputError if the text is no size.
    """
    if not text:
        return None
    from kschedctl.sources.snapshot.archives import parse_size

    return parse_size(text)


#: The default of ``--validate``.
STRICT: Final = "strict"


def validation(text: str) -> str:
    """Parse the value of ``--validate``.

    Raises typer.BadParameter if the value is invalid.
    """
    from kschedctl.sources.snapshot.validation import Validation

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
        help="Treatment of manifest fields that are unknown to the API server or set twice.",
    ),
]
VersionOption = Annotated[
    str,
    version_option("--kubernetes-version", "Kubernetes release whose rules apply. Default: the cluster's own version."),
]
GatesOption = Annotated[
    list[str] | None,
    gates_option("--feature-gates", "Feature gates of the scheduler, in the format of kube-scheduler."),
]
ConfigOption = Annotated[str, config_option("--config", "KubeSchedulerConfiguration file of the scheduler.")]
MaxUnpackedOption = Annotated[
    str,
    typer.Option(
        "--max-unpacked",
        metavar="SIZE",
        help="Limit of unpacked data, and of data held from one file, such as 10Gi. Default: 4Gi, and "
        "250 times the packed size of each file.",
        show_default=False,
        callback=size,
    ),
]
ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="Cluster in a snapshot that holds several: its name, or its path inside. "
        f"Default: ${CLUSTER_VARIABLE}, with ${SNAPSHOT_VARIABLE}.",
        show_default=False,
        autocompletion=completion.clusters,
    ),
]
CallExtendersOption = Annotated[
    bool,
    typer.Option(
        "--call-extenders",
        help="Call the configuration's extenders over HTTP, as kube-scheduler does: filter, prioritize and preempt.",
    ),
]
ContextOption = Annotated[
    str,
    typer.Option("--context", metavar="NAME", help="kubectl context. Default: the current one.", show_default=False),
]
KubeconfigOption = Annotated[
    str,
    typer.Option("--kubeconfig", metavar="FILE", help="kubeconfig file. Default: as for kubectl.", show_default=False),
]
AsOption = Annotated[
    str,
    typer.Option(
        "--as", metavar="USER", help="User to impersonate in a running cluster, as for kubectl.", show_default=False
    ),
]
AsGroupOption = Annotated[
    list[str] | None, typer.Option("--as-group", metavar="GROUP", help="With --as: group to impersonate.")
]
NamespaceOption = Annotated[str, namespace_option("Namespace of the objects. Default: as for kubectl.")]
AllNamespacesOption = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Use all namespaces; overrides -n.")]
#: For commands that use all namespaces in any case, as kubectl users type it there, too.
EveryNamespaceOption = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Use all namespaces, as without this option.")
]
CompareOption = Annotated[
    list[str] | None, typer.Option("--compare", metavar="PATH", help="Snapshot that the cluster can be compared with.")
]
SelectorOption = Annotated[
    str,
    typer.Option(
        "--selector", "-l", metavar="SELECTOR", help="All with matching labels, such as app=web.", show_default=False
    ),
]
IdentityOption = Annotated[
    str,
    typer.Option(
        "--identity",
        metavar="NAME",
        help="Identity of this candidate, unique among the candidates. Default: the host's name and a random id.",
        show_default=False,
    ),
]


def feature_gates(given: Sequence[str] | None) -> dict[str, bool]:
    """Parse feature gates and return them by name.

    Raises typer.BadParameter if a text is not ``NAME=true`` or ``NAME=false``.
    """
    gates: dict[str, bool] = {}
    for pair in (pair for text in given or () for pair in text.split(",") if pair.strip()):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or value.lower() not in ("true", "false"):
            raise typer.BadParameter(f'"{pair}" is not NAME=true or NAME=false', param_hint="--feature-gates")
        gates[name] = value.lower() == "true"
    return gates


def impersonated_groups(user: str, groups: Sequence[str] | None) -> tuple[str, ...]:
    """Return the groups to impersonate.

    Raises typer.BadParameter if there is no user to impersonate.
    """
    if groups and not user:
        raise typer.BadParameter("requires --as", param_hint="--as-group")
    return tuple(groups or ())


def request_seconds(text: str) -> float:
    """Parse the time limit of a request, in seconds or as a Go duration, as in kubectl.

    Raises typer.BadParameter if the text is neither, or is negative.
    """
    from kschedctl.objects.duration import Duration

    if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS:
        return float(text)
    try:
        seconds = Duration.parse(text).nanoseconds / 1e9
    except ValueError:
        seconds = -1.0
    if seconds < 0:
        raise typer.BadParameter(f'"{text}" is not a duration such as 30s, 2m or 0', param_hint="--request-timeout")
    return seconds


# The options for the output format of a command, and for the strictness of its exit code.


def _output(kind: FormKind) -> Any:
    return typer.Option(
        "--output",
        "-o",
        metavar=usage(kind),
        help="Output format.",
        autocompletion=completion.table_forms if kind is FormKind.TABLE else completion.forms,
        show_default=False,
    )


class OutputOptions(OptionGroup):
    """The output options."""

    title: ClassVar[str] = "Output"
    #: The kind of the answer, which determines the supported formats.
    kind: ClassVar[FormKind] = FormKind.ANSWER

    output: Annotated[str, _output(FormKind.ANSWER)] = ""
    color: Annotated[
        ColorWhen, typer.Option("--color", help="When to use colours. auto: on a terminal, unless NO_COLOR is set.")
    ] = ColorWhen.AUTO
    no_color: Annotated[bool, typer.Option("--no-color", help="Same as --color=never.")] = False
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 if the answer is uncertain or incomplete.")] = (
        False
    )

    @property
    def is_short(self) -> bool:
        """True for the default text output, which may summarize; other formats contain everything."""
        return not self.output

    def colors(self) -> ColorWhen:
        """Return the use of colours.

        Raises typer.BadParameter if both options are given and contradict each other.
        """
        if self.no_color and self.color is ColorWhen.ALWAYS:
            raise typer.BadParameter("--no-color is given, too", param_hint="--color")
        return ColorWhen.NEVER if self.no_color else self.color

    def form(self) -> Form:
        """Return the output format.

        Raises typer.BadParameter if there is no such format, or its template is invalid.
        """
        try:
            return parse_form(self.output, self.kind)
        except FormError as error:
            raise typer.BadParameter(str(error), param_hint="--output") from None


class TableOutputOptions(OutputOptions):
    """The output options of commands with a tabular answer."""

    kind: ClassVar[FormKind] = FormKind.TABLE

    output: Annotated[str, _output(FormKind.TABLE)] = ""
