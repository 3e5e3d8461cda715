"""The options that change the cluster before a command answers: one group, shared by all commands."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

import typer

from kschedctl.cli.options.group import OptionGroup

if TYPE_CHECKING:
    from kschedctl.whatif.edits import Apply, Edit

_PANEL: Final = "What if"


def _option(name: str, metavar: str, text: str) -> Any:
    option = typer.Option(name, metavar=metavar, help=text, show_default=False, rich_help_panel=_PANEL)
    return Annotated[list[str] | None, option]


#: In the order in which they take effect.
_OPTIONS: Final[dict[str, Any]] = {
    "apply": _option(
        "--apply", "FILE", "What if these objects were there? The same name replaces; FILE*3 adds 3 copies; - is stdin."
    ),
    "delete": _option("--delete", "KIND/NAME", "What if this were gone? Also KIND/NAMESPACE/NAME."),
    "set_replicas": _option("--set-replicas", "KIND/NAME=N", "What if this workload had N replicas?"),
    "label": _option("--label", "NODE:KEY=VALUE", "What if this node had this label? NODE:KEY- takes it away."),
    "taint": _option("--taint", "NODE:KEY=VALUE:EFFECT", "What if this node had this taint? A - behind takes it away."),
    "cordon": _option("--cordon", "NODE", "What if this node were cordoned?"),
    "drain": _option("--drain", "NODE", "What if this node were drained? Disruption budgets are not asked."),
    "fail_zone": _option("--fail-zone", "ZONE", "What if all nodes of this zone were gone?"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfOptions(OptionGroup):
    """The values of the options, as given.

    Attributes
    ----------
    namespace : str
        The namespace of what names none; empty for the default one. The others are the options.
    """

    apply: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    set_replicas: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    taint: tuple[str, ...] = ()
    cordon: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()
    fail_zone: tuple[str, ...] = ()
    namespace: str = ""

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """The options as the parameters of a function."""
        return [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in _OPTIONS.items()
        ]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """The values that typer gives, with the namespace that another group has."""
        given = {name: tuple(values[name] or ()) for name in _OPTIONS}
        return cls(**given, namespace=values.get("namespace", ""))

    @property
    def given(self) -> bool:
        """Whether anything is to be changed."""
        return any(getattr(self, name) for name in _OPTIONS)

    @property
    def sources(self) -> tuple[str, ...]:
        """What ``--apply`` reads."""
        from kschedctl.whatif.parse import parse_source

        return tuple(parse_source(text)[0] for text in self.apply)

    def edits(self) -> tuple[Edit, ...]:
        """The changes, in the order in which they take effect.

        Raises
        ------
        InputError
            Where a value cannot be read.
        """
        from kschedctl.whatif import parse
        from kschedctl.whatif.edits import Cordon, Drain, FailZone

        return (
            *(self._apply(text) for text in self.apply),
            *(parse.parse_delete(text, self.namespace) for text in self.delete),
            *(parse.parse_replicas(text, self.namespace) for text in self.set_replicas),
            *(parse.parse_label(text) for text in self.label),
            *(parse.parse_taint(text) for text in self.taint),
            *map(Cordon, self.cordon),
            *map(Drain, self.drain),
            *map(FailZone, self.fail_zone),
        )

    def arguments(self) -> Iterator[str]:
        """The same options for another command."""
        for name in _OPTIONS:
            for value in getattr(self, name):
                yield from (_flag(name), value)

    def _apply(self, text: str) -> Apply:
        from kschedctl.cli.manifests import placed
        from kschedctl.cli.streams import stdin
        from kschedctl.snapshot.pod_choice import STDIN
        from kschedctl.snapshot.reading import read_manifest
        from kschedctl.whatif.edits import Apply
        from kschedctl.whatif.parse import parse_source

        path, copies = parse_source(text)
        read = read_manifest(path, stdin=stdin() if path == STDIN else None)
        objects = tuple((placed(obj, self.namespace), place) for obj, place in read)
        return Apply(objects, copies, "standard input" if path == STDIN else path)


NO_WHAT_IFS: Final = WhatIfOptions()


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
