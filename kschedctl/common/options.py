"""Options: what a command, the API and a method call the same thing, declared once."""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from kschedctl.common.errors import InputError


class Example(NamedTuple):
    """An example of a command: what it is for, and its arguments with the name of the command."""

    what: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command: a what-if, or a field of a request."""

    #: The flag, for example ``--fail-zone``; empty for an argument.
    flag: str
    #: The form of the value; empty for a switch.
    metavar: str
    #: The help text. That of a what-if describes the hypothetical state: "Answer as if the node were cordoned."
    help: str
    _: KW_ONLY
    #: The short form, for example ``-l``.
    short: str = ""
    #: The heading that it has in the help.
    heading: str = ""
    #: The function in ``cli/completion`` that completes a value.
    completion: str = ""
    #: The smallest and the largest number.
    least: float | None = None
    most: float | None = None
    #: The name of the parameter in the API, if it is not that of the flag.
    parameter: str = ""
    #: True if it names a file of the user, which the API does not take.
    is_file: bool = False

    def check(self, number: float, path: str = "") -> None:
        """Check the bounds of a number.

        Raises InputError if the number at the path is outside.
        """
        # No number is less or more than "not a number".
        if self.least is not None and not number >= self.least:
            raise InputError(f"{number} is less than {self.least:g}", path=path)
        if self.most is not None and not number <= self.most:
            raise InputError(f"{number} is more than {self.most:g}", path=path)

    @property
    def of_api(self) -> str:
        """The name of the parameter in the API; empty for an argument that has the name of its field."""
        return self.parameter or self.flag.removeprefix("--")

    @property
    def name(self) -> str:
        """The flag as an identifier."""
        return self.flag.removeprefix("--").replace("-", "_")


#: The seed of an analysis that chooses one of several equally good nodes.
SEED = Option(
    "--seed",
    "N",
    "Seed of the random choice among nodes with equal scores, as in kube-scheduler; equal seeds give equal results. "
    "Default: the first node by name.",
    least=0,
)

#: The catalog of instance types of an analysis of Karpenter.
INSTANCE_TYPES = Option(
    "--instance-types",
    "FILE",
    "Read the instance types of the cloud from this file. Default: those that the cluster shows.",
    is_file=True,
)

#: The seed of an analysis that otherwise names all equally good nodes.
CHOICE_SEED = Option(
    "--seed", "N", "Seed of the random choice among equal nodes. Default: all of them are named.", least=0
)
