"""A page in the making, in a worker process: questions are answered, laid out as documents, and rendered as HTML."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from importlib.metadata import version
from typing import Any, Final, TypeVar

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from kschedctl.common.errors import ClusterError, KschedctlError
from kschedctl.common.text.characters import is_invisible, printable
from kschedctl.output.page.page import Page, environment, nowhere, page_of
from kschedctl.questions.answer import Answer
from kschedctl.questions.document import Block, Paragraph, Provenance, Tone
from kschedctl.questions.documents import document
from kschedctl.questions.frame import View
from kschedctl.questions.frame import age as age_in_words
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.nodes.analysis import describe_node, nodes_overview
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.questions.nodes.request import NodesRequest
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.web.errors import lines_of
from kschedctl.web.pages.visit import Links, ServerState, Values, Visit, address_values, local_path
from kschedctl.web.questions.question import OFFERED, Asked, Query, answer_of
from kschedctl.web.questions.registry import BY_NAME, QUESTIONS

T = TypeVar("T")
#: The characters that may be invisible. Lines and tabs of a manifest stay as they are.
_NOT_PLAIN: Final = re.compile(r"[^\n\t -~]")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page: a document below a heading."""

    #: The sections of the document.
    page: Page
    #: The heading; the title of the document stands below it.
    heading: str


class Sheet:
    """A page in the making.

    Args:
        visit: The request for the page; its what-ifs are applied to the cluster.

    Raises InputError if a what-if cannot be applied.
    """

    def __init__(self, cluster: LoadedCluster, visit: Visit, handle: AnalysisHandle, *, prefer: str = "Pod") -> None:
        self.cluster = BY_NAME["show_cluster"].asked({}, visit.what_ifs, b"").over(cluster, handle)
        self.links = Links(visit, self.cluster.cluster, prefer)
        self._visit = visit
        self._handle = handle
        self._has_provenance = False

    def answer(self, name: str, values: Values = (), body: bytes = b"") -> Any:
        """Answer a question about the cluster with the what-ifs.

        Args:
            name: The name of the question, such as ``explain_pod``.

        Raises KschedctlError if the question cannot be answered.
        """
        question = BY_NAME[name]
        return answer_of(question.run, self.cluster, question.asked({}, values, body), self._handle)

    def run(self, function: Callable[..., T], query: Query, body: bytes) -> T:
        """Call a function that answers questions with parameters and manifests; errors are those of the function."""
        return function(self.cluster, Asked(query, body=body), self._handle)

    @cached_property
    def overview(self) -> NodesOverview | None:
        """The nodes, for charts; ``None`` if there are none."""
        return nodes_overview(self.cluster, NodesRequest(), self._handle) if len(self.cluster.nodes) else None

    def view(self, *, wide: bool | None = None) -> View:
        """Return the view of a document.

        Args:
            wide: True for the whole answer; by default as the request says.
        """
        return View(
            wide=self._visit.wide if wide is None else wide,
            drawn=True,
            overview=self.overview,
            describe=partial(describe_node, self.cluster),
        )

    def part(self, answer: Answer, view: View, heading: str = "", only: Collection[type] = ()) -> Part:
        """Return an answer as a part of the page.

        Args:
            only: The types of blocks that are shown after the first one; all by default.
        """
        blocks = enumerate(document(answer, view))
        shown = (block for i, block in blocks if not i or not only or isinstance(block, tuple(only)))
        return self.laid_out(shown, heading)

    def laid_out(self, blocks: Iterable[Block], heading: str = "") -> Part:
        """Return blocks as a part of the page; rules and snapshot are only in the first one."""
        shown = [block for block in blocks if not (self._has_provenance and isinstance(block, Provenance))]
        self._has_provenance = self._has_provenance or any(isinstance(block, Provenance) for block in shown)
        return laid_out(shown, self.links, heading)

    def asked(self, name: str, values: Values) -> Asked[Query]:
        """Return a question as it reads it; errors and parameters are those of ``answer``."""
        return BY_NAME[name].asked({}, values)

    def attempt(self, heading: str, name: str, values: Values = (), only: Collection[type] = ()) -> Part:
        """Return the answer to a question as a part, or the reason why there is none."""
        try:
            return self.part(self.answer(name, values), self.view(), heading, only)
        except ClusterError as error:
            return self.laid_out(error_blocks(error), heading)

    def html(self, template: str, title: str, parts: Iterable[Part] = (), **values: object) -> str:
        """Return the page.

        Args:
            title: The title of the window; empty for that of the first part.
        """
        made = tuple(parts)
        notices = tuple(dict.fromkeys(self._handle.notices))
        return framed(template, self._visit, self.links, title=title, parts=made, notices=notices, **values)


def laid_out(blocks: Iterable[Block], links: Links | None = None, heading: str = "") -> Part:
    """Return blocks as a part of a page, with next questions for which there is a page."""
    return Part(page_of(blocks, lambda _: "", links.question if links is not None else nowhere), heading)


def framed(template: str, visit: Visit, link: object = None, **values: object) -> str:
    """Render a template in the frame of all pages."""
    frame = {
        "visit": visit,
        "link": link or _no_link,
        "what_if_options": WHAT_IFS,
        "age": age_of(visit.server),
        "version": version("kschedctl"),
        "lead": link.question if isinstance(link, Links) else nowhere,
        "in_full": False,
        "has_frame": True,
        "headed": None,
        "menu": _MENU,
    }
    return _environment().get_template(template).render({"parts": (), "notices": (), "actions": (), **frame, **values})


#: The pages with the form of a request, by path.
FORMS_OF_REQUESTS: Final = tuple(
    (question.request.page or question.path, question.request) for question in QUESTIONS if question.request is not None
)
#: The menu: path and title.
_MENU: Final = (
    ("/", "Overview"),
    ("/pending", "Pending"),
    ("/pods", "Pods"),
    ("/nodes", "Nodes"),
    ("/workloads", "Workloads"),
    ("/claims", "Claims"),
    ("/budgets", "Budgets"),
    ("/try", "Try a manifest"),
    *((path, request.title) for path, request in FORMS_OF_REQUESTS if not request.page),
    ("/simulate", "Simulate"),
    ("/compare", "Compare"),
    ("/jobs", "Jobs"),
)
#: The what-ifs that the form offers: name, form of the value, and help.
WHAT_IFS: Final = tuple(
    (edit.option.flag.removeprefix("--"), edit.option.metavar, edit.option.help) for edit in OFFERED
)


def error_blocks(error: KschedctlError) -> Iterator[Block]:
    """Lay out an error: what is wrong and where, and what to do."""
    for i, line in enumerate(error_lines(error)):
        yield Paragraph(line, Tone.PLAIN if i else Tone.BAD)


def error_lines(error: KschedctlError) -> tuple[str, ...]:
    """Return the lines of an error, the problem first."""
    return tuple(map(str.strip, lines_of(error)))


def age_of(server: ServerState) -> str:
    """Return the age of the cluster in words.

    >>> age_of(ServerState(name="prod", live=True, age=3.2))
    'live, 3 s old'
    >>> age_of(ServerState(name="prod", age=300.0, written_at="2026-05-04 11:55:00 UTC"))
    'state of 2026-05-04 11:55:00 UTC, 5 min ago'
    """
    if server.live:
        return f"live, {server.age or 0:.0f} s old"
    now = datetime.now(UTC)
    if server.age is None:
        return "snapshot"
    return f"state of {server.written_at}, {age_in_words(now - timedelta(seconds=server.age), now)}"


@cache
def _environment() -> Environment:
    """Return the environment of pages; ``exact`` is for names and values that a form sends back."""
    made = environment([PackageLoader("kschedctl.web")])
    made.filters["exact"] = exact
    return made


def exact(value: str) -> Markup:
    r"""Escape a value that a browser reads as it is: invisible characters become character references.

    >>> str(exact('<a\u202e\x1b">'))
    '&lt;a&#x202e;&#x1b;&#34;&gt;'
    """
    return Markup(_NOT_PLAIN.sub(_reference, str(escape(value))))


def _reference(found: re.Match[str]) -> str:
    character = found[0]
    if not is_invisible(character):
        return character
    # Browsers read references to these as other characters.
    return printable(character) if character == "\0" or "\x80" <= character <= "\x9f" else f"&#x{ord(character):x};"


def _no_link(_: str) -> str:
    return ""


# The page that shows an error.


def problem_page(
    status: int, title: str, problems: Sequence[tuple[str, str, str, str]], *, path: str = "/", query: bytes = b""
) -> str:
    """Return the page of an error.

    Args:
        path, query: The address of the request, so that a what-if that caused the error can be removed.
    """
    visit = Visit(server=ServerState(name=""), path=local_path(path), values=address_values(query))
    return framed("problem.html.j2", visit, title=title, status=status, problems=problems)
