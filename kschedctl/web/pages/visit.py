"""A request for a page: its address, its what-ifs, and the state of the server that the frame of the page shows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode
from weakref import WeakKeyDictionary

from litestar import MediaType, Request, Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.ownership import MAKERS
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.document import Question
from kschedctl.questions.frame import time_in_words
from kschedctl.questions.inventory.analysis import pods_by_workload
from kschedctl.web.questions.question import OFFERED, parameters
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
    """The state of the server, as pages show it."""

    #: The name of the cluster: its context, or the paths of its snapshot.
    name: str
    #: True if the cluster moves.
    live: bool = False
    version: int = 0
    #: The age of the cluster, in seconds; ``None`` if unknown.
    age: float | None = None
    #: The time of the cluster's state with its zone; empty if unknown.
    written_at: str = ""
    #: The reason why the cluster is out of date; empty if it is not.
    problem: str = ""
    #: The snapshots that the cluster can be compared with.
    compare: tuple[str, ...] = ()

    @classmethod
    def of(cls, served: Served) -> "ServerState":
        """Return the current state of a server."""
        age = served.source.age
        written_at = "" if age is None else time_in_words(datetime.now(UTC) - timedelta(seconds=age - 0.5))
        return cls(
            name=served.source.name,
            written_at=written_at,
            compare=tuple(each.source.paths[0] for each in served.settings.compare),
            **served.state(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request for a page."""

    server: ServerState
    #: The path of the page, percent-encoded.
    path: str
    #: The parameters in the path.
    names: Mapping[str, str] = field(default_factory=dict)
    #: The other parameters, without blank ones, which forms send for fields that are not filled in.
    values: Values = ()

    @classmethod
    def of(cls, request: Request[Any, Any, Any], served: Served) -> "Visit":
        """Read a request.

        Raises InputError if the parameters are too long, or not UTF-8.
        """
        return cls(
            server=ServerState.of(served),
            path=local_path(request.scope["path"]),
            names=dict(request.path_params),
            values=_filled_in(parameters(request)),
        )

    def having(self, values: Iterable[tuple[str, str]]) -> "Visit":
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
        return _with_query(self.path, (*left, *new))

    def without(self, what_if: tuple[str, str]) -> str:
        """Return the address without a what-if."""
        return _with_query(self.path, [each for each in self.values if each != what_if])

    @property
    def without_what_ifs(self) -> str:
        """The address without what-ifs."""
        return _with_query(self.path, self.own)

    @property
    def here(self) -> str:
        """The address."""
        return _with_query(self.path, self.values)

    def address(self, path: str, values: Iterable[tuple[str, str]] = ()) -> str:
        """Return the address of another page, with the same what-ifs.

        Args:
            path: The path, percent-encoded.
        """
        return _with_query(path, (*values, *self.what_ifs))


def local_path(path: str) -> str:
    """Return a path percent-encoded, with one slash in front: browsers read two as the name of another server.

    >>> local_path("//evil.example/a b")
    '/evil.example/a%20b'
    """
    return f"/{quote(path.lstrip('/'))}"


def path_of(*parts: str) -> str:
    """Return a path with percent-encoded parts; empty if a part cannot be one, because browsers would resolve it.

    >>> path_of("pods", "shop", "a b?"), path_of("pods", "shop", "..")
    ('/pods/shop/a%20b%3F', '')
    """
    if any(part in ("", ".", "..") or "/" in part for part in parts):
        return ""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _with_query(path: str, values: Iterable[tuple[str, str]]) -> str:
    query = urlencode(tuple(values))
    return f"{path}?{query}" if query else path


def address_values(query: bytes) -> Values:
    """Return the parameters in the address of a request that failed; none if they cannot be read."""
    return _filled_in(parse_qsl(query.decode("latin-1")))


def _filled_in(values: Iterable[tuple[str, str]]) -> Values:
    return tuple((name, value) for name, value in values if value.strip())


# Handlers of pages: a worker process makes the page, with the cluster that it holds.

AnyRequest: TypeAlias = Request[Any, Any, Any]


def page(path: str, make: Callable[..., str], *arguments: object) -> HTTPRouteHandler:
    """Return the handler of a page.

    Args:
        make: A function of a module that returns the page; a worker process calls it as ``make(cluster, visit,
            *arguments, handle)``.
        *arguments: Its further arguments, which can be pickled.
    """

    async def handle(request: AnyRequest, served: NamedDependency[Served]) -> Response[Any]:
        visit = Visit.of(request, served)
        if visit.new_what_if:
            return Redirect(visit.new_what_if, status_code=303)
        return Response(await served.ask(make, visit, *arguments), media_type=MediaType.HTML)

    return get(path)(handle)


# The addresses of pages: of the objects that texts name, and of the next questions of documents.

#: The pages of kinds, by kind; those of workloads have the kind in their path.
_PAGES: Final[Mapping[str, str]] = {
    "Pod": "pods",
    "Node": "nodes",
    "PersistentVolumeClaim": "claims",
    "PodDisruptionBudget": "budgets",
    **dict.fromkeys((kind.__name__ for kind in MAKERS), "workloads"),
}
#: The pages that answer a command, and the parameter for the object that it is about, if that is not in the path.
_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "capacity": ("/capacity", "pod"),
    "consolidate": ("/consolidate", "node"),
    "drain": ("/drain", "node"),
    "nodes": ("/nodes", ""),
    "pending": ("/pending", ""),
    "provision": ("/provision", ""),
    "simulate": ("/simulate", ""),
}
#: The options of next questions that pages have as parameters.
_OPTIONS: Final = frozenset(
    (
        "apply_suggestion",
        "by",
        "ignore_daemonsets",
        "node",
        "output",
        "place_pending_first",
        "prefer",
        "sampling",
        "sort_by",
        "why",
        "withstand",
    )
)
_workloads: WeakKeyDictionary[Cluster, frozenset[tuple[str, str, str]]] = WeakKeyDictionary()


class Links:
    """The addresses of pages about a cluster, with the what-ifs of a visit.

    Args:
        cluster: The cluster; only its objects have addresses.
        prefer: The kind of a name that several objects have; pods by default.
    """

    def __init__(self, visit: Visit, cluster: Cluster, prefer: str = "Pod") -> None:
        self._visit = visit
        self._cluster = cluster
        self._kinds = tuple(dict.fromkeys((prefer, "Pod", "PersistentVolumeClaim", "PodDisruptionBudget")))

    def __call__(self, text: str) -> str:
        """Return the address of the page about an object, by its name as answers write it; empty if there is none.

        Nodes have one word, pods, claims and budgets ``namespace/name``, and workloads ``Deployment namespace/name``.
        """
        kind, space, key = text.rpartition(" ")
        namespace, slash, name = key.partition("/")
        if not slash:
            return "" if space else self.of("Node", "", text)
        for each in (kind,) if space else self._kinds:
            if address := self.of(each, namespace, name):
                return address
        return ""

    def of(self, kind: str, namespace: str, name: str) -> str:
        """Return the address of the page about an object; empty if the kind has none, or the object does not exist."""
        page = _PAGES.get(kind, "")
        if not page or not self._exists(kind, namespace, name):
            return ""
        parts = (name,) if kind == "Node" else (namespace, name)
        path = path_of(page, kind, *parts) if page == "workloads" else path_of(page, *parts)
        return self._visit.address(path) if path else ""

    def question(self, question: Question) -> str:
        """Return the address of the page that answers a next question; empty if there is none."""
        values = tuple(
            (name.replace("_", "-"), "true" if one is True else str(one))
            for name, value in question.options.items()
            if name in _OPTIONS and value is not None
            for one in (value if isinstance(value, tuple) else (value,))
        )
        if len(values) < sum(value is not None for value in question.options.values()) or question.snapshot:
            return ""
        page = self(question.about) if question.about else ""
        match question.command:
            case "explain" | "preempt" | "volumes":
                address = page
            case "nodes" if question.about:
                address = page
            case command if command in _COMMANDS:
                path, parameter = _COMMANDS[command]
                values = (((parameter, question.about),) if question.about and parameter else ()) + values
                address = self._visit.address(path)
            case _:
                address = ""
        if not address:
            return ""
        full = self._visit.address(address.partition("?")[0], values)
        return "" if full == self._visit.here else full

    def _exists(self, kind: str, namespace: str, name: str) -> bool:
        cluster = self._cluster
        match kind:
            case "Node":
                return name in cluster.nodes.row
            case "Pod":
                return (namespace, name) in cluster.pods.index
            case "PersistentVolumeClaim":
                return cluster.get(PersistentVolumeClaim, name, namespace) is not None
            case "PodDisruptionBudget":
                return cluster.get(PodDisruptionBudget, name, namespace) is not None
            case _:
                found = _workloads.get(cluster)
                if found is None:
                    found = _workloads[cluster] = frozenset(pods_by_workload(cluster))
                return (kind, namespace, name) in found
