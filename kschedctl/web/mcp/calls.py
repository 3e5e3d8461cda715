"""The calls that a server of the protocol makes in its worker processes: tools, their answers, and pages.

Only these import the questions and the types of their answers, so that a server on standard input starts at once.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from kschedctl.common.errors import InputError
from kschedctl.common.wording import listed, similar
from kschedctl.questions.cluster_request import ClusterRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.trials.loaded_cluster import LoadedCluster


def tools(cluster: LoadedCluster, handle: AnalysisHandle) -> list[dict[str, Any]]:
    """Return name, description and schemas of each tool."""
    from kschedctl.web.mcp.tools import TOOLS, description, input_schema, output_schema

    return [
        {
            "name": name,
            "description": description(name),
            "input_schema": input_schema(name),
            "output_schema": output_schema(name),
        }
        for name in TOOLS
    ]


def is_job(name: str) -> bool:
    """Report whether a tool takes long."""
    from kschedctl.web.mcp.tools import TOOLS

    return name in TOOLS and TOOLS[name].is_job


#: The largest number of an argument.
_LARGEST: Final = 2**63


def pairs(arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return arguments as an address has them: a list is a parameter with several values.

    Raises InputError if a value is an object, or a list of other things than texts and numbers.
    """
    found = []
    for name, value in arguments.items():
        for each in value if isinstance(value, list) else () if value is None else (value,):
            if not isinstance(each, str | int | float):
                raise InputError("is neither a text nor a number", path=name)
            if isinstance(each, int) and abs(each) > _LARGEST:
                raise InputError("is too large a number", path=name)
            found.append((name, str(each).lower() if isinstance(each, bool) else str(each)))
    return tuple(found)


def answer(
    cluster: LoadedCluster,
    name: str,
    values: tuple[tuple[str, str], ...],
    compare: tuple[ClusterRequest, ...],
    handle: AnalysisHandle,
) -> tuple[bytes, str]:
    """Call a tool, and return the JSON of `Shortened` and the text of the command.

    Args:
        values: The arguments, as `pairs` returns them.

    Raises KschedctlError if an argument is wrong, or the question cannot be answered.
    """
    from kschedctl.web.mcp.tools import answer

    return answer(cluster, name, values, compare, handle)


# The pages that explain answers.

SCHEME: Final = "kschedctl://"
#: The page about the cluster.
CLUSTER: Final = f"{SCHEME}cluster"
#: The pages that explain words of answers, by the first part of their address.
PAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "diagnoses": "The causes that answers name, such as forgotten-cordon: how they are recognised, and what helps.",
        "reasons": "The plugins of kube-scheduler, the reasons that they give, and the cures that are tried.",
        "rules": "The rules of lint: what they find, why it is wrong, and how to repair it.",
    }
)


def page(cluster: LoadedCluster, address: str, handle: AnalysisHandle) -> str:
    """Return a page as Markdown: the summary of the cluster, the list of the pages of a kind, or one of these.

    Raises InputError if there is no such page.
    """
    kind, _, name = address.removeprefix(SCHEME).partition("/")
    if address == CLUSTER:
        from kschedctl.questions.inventory.analysis import cluster_summary

        return cluster_summary(cluster).to_text(0)
    if kind not in PAGES or not address.startswith(SCHEME):
        every = (CLUSTER, *(f"{SCHEME}{each}" for each in PAGES))
        raise InputError(f'there is no resource "{address}"', hint=f"give one of {listed(every)}, or a page of these")
    texts = _texts(kind)
    if not name:
        lines = [f"# {kind.title()}", ""]
        for known, text in texts.items():
            first = text.partition("\n")[0]
            lines.append(f"- {SCHEME}{kind}/{known}: {first}")
        return "\n".join(lines)
    if name not in texts:
        close = similar(name, texts)
        hint = f"did you mean {listed(close, 'or')}?" if close else f"{SCHEME}{kind} lists them"
        raise InputError(f'there is no page "{name}"', hint=hint)
    return f"# {name}\n\n{texts[name]}"


def _texts(kind: str) -> dict[str, str]:
    """Return the texts of the pages of a kind by name."""
    if kind == "rules":
        from kschedctl.linter.rules import RULES
        from kschedctl.questions.lint.analysis import pages

        return {only.code: pages([only]).to_text(0, wide=True) for only in RULES}
    from kschedctl.questions.reference import diagnoses, reasons

    parts = diagnoses() if kind == "diagnoses" else reasons()
    return {name.replace(" ", "-"): text for texts in parts.values() for name, text in texts.items()}
