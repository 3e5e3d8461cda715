"""A request for a page: its address, its what-ifs, and the state of the server that the frame of the page shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from litestar import Request

from kschedctl.web.parameters import parameters
from kschedctl.web.questions.asked import OFFERED
from kschedctl.web.served import Served

#: The parameter for the whole answer, named and valued as on the command line.
_OUTPUT: Final = ("output", "wide")
#: The fields of the form for what-ifs; the address that they lead to has the option itself.
_OPTION: Final = "what-if"
_VALUE: Final = "what-if-value"
_FLAGS: Final = frozenset(edit.option.flag.removeprefix("--") for edit in OFFERED)

#: Names and values of parameters.
Values = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """The state of the server, as pages show it.

    Attributes
    ----------
    name : str
        The name of the cluster: its context, or the paths of its snapshot.
    live : bool
        True if the cluster moves.
    version : int
        The version of the cluster.
    age : float or None
        The age of the cluster, in seconds; ``None`` if unknown.
    problem : str
        The reason why the cluster is out of date; empty if it is not.
    compare : tuple of str
        The snapshots that the cluster can be compared with.
    """

    name: str
    live: bool = False
    version: int = 0
    age: float | None = None
    problem: str = ""
    compare: tuple[str, ...] = ()

    @classmethod
    def of(cls, served: Served) -> ServerState:
        """Return the current state of a server."""
        return cls(
            name=served.source.name,
            compare=tuple(each.source.paths[0] for each in served.settings.compare),
            **served.state(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request for a page.

    Attributes
    ----------
    server : ServerState
        The state of the server.
    path : str
        The path of the page, percent-encoded.
    names : mapping of str to str
        The parameters in the path.
    values : tuple of (str, str)
        The other parameters, without blank ones, which forms send for fields that are not filled in.
    """

    server: ServerState
    path: str
    names: Mapping[str, str] = field(default_factory=dict)
    values: Values = ()

    @classmethod
    def of(cls, request: Request[Any, Any, Any], served: Served) -> Visit:
        """Read a request.

        Raises
        ------
        InputError
            If the parameters are too long, or not UTF-8.
        """
        return cls(
            server=ServerState.of(served),
            path=local_path(request.scope["path"]),
            names=dict(request.path_params),
            values=_filled_in(parameters(request)),
        )

    def having(self, values: Iterable[tuple[str, str]]) -> Visit:
        """Return the visit with the what-ifs among the values of a form."""
        return replace(self, values=tuple(each for each in values if each[0] in _FLAGS))

    @property
    def what_ifs(self) -> Values:
        """The what-ifs: names of options without dashes, and values."""
        return tuple((name, value) for name, value in self.values if name in _FLAGS)

    @property
    def own(self) -> Values:
        """The parameters of the page, which are no what-ifs."""
        return tuple((name, value) for name, value in self.values if name not in _FLAGS)

    @property
    def asked(self) -> Values:
        """The parameters of the question that the page answers, including those in the path."""
        return (*self.names.items(), *(each for each in self.own if each != _OUTPUT))

    @property
    def wide(self) -> bool:
        """True if the whole answer is wanted."""
        return _OUTPUT in self.values

    @property
    def new_what_if(self) -> str:
        """The address with the what-if of the form as an option; empty if the form was not sent."""
        sent = dict(self.values)
        if _OPTION not in sent:
            return ""
        left = tuple((name, value) for name, value in self.values if name not in (_OPTION, _VALUE))
        new = ((sent[_OPTION], sent.get(_VALUE, "")),) if sent[_OPTION] in _FLAGS and _VALUE in sent else ()
        return _joined(self.path, (*left, *new))

    def without(self, what_if: tuple[str, str]) -> str:
        """Return the address without a what-if."""
        return _joined(self.path, [each for each in self.values if each != what_if])

    @property
    def without_what_ifs(self) -> str:
        """The address without what-ifs."""
        return _joined(self.path, self.own)

    @property
    def here(self) -> str:
        """The address."""
        return _joined(self.path, self.values)

    def address(self, path: str, values: Iterable[tuple[str, str]] = ()) -> str:
        """Return the address of another page, with the same what-ifs.

        Parameters
        ----------
        path : str
            The path, percent-encoded.
        values : iterable of (str, str)
            Further parameters.
        """
        return _joined(path, (*values, *self.what_ifs))


def local_path(path: str) -> str:
    """Return a path percent-encoded, with one slash in front: browsers read two as the name of another server.

    Examples
    --------
    >>> local_path("//evil.example/a b")
    '/evil.example/a%20b'
    """
    return f"/{quote(path.lstrip('/'))}"


def path_of(*parts: str) -> str:
    """Return a path with percent-encoded parts; empty if a part cannot be one, because browsers would resolve it.

    Examples
    --------
    >>> path_of("pods", "shop", "a b?"), path_of("pods", "shop", "..")
    ('/pods/shop/a%20b%3F', '')
    """
    if any(part in ("", ".", "..") or "/" in part for part in parts):
        return ""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _joined(path: str, values: Iterable[tuple[str, str]]) -> str:
    query = urlencode(tuple(values))
    return f"{path}?{query}" if query else path


def address_values(query: bytes) -> Values:
    """Return the parameters in the address of a request that failed; none if they cannot be read."""
    return _filled_in(parse_qsl(query.decode("latin-1")))


def _filled_in(values: Iterable[tuple[str, str]]) -> Values:
    return tuple((name, value) for name, value in values if value.strip())
