"""The registry of tools: a question each, with its parameters as JSON Schema, and the reading of their values."""

import dataclasses
import inspect
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from kschedctl.common.errors import InputError
from kschedctl.common.wording import listed, similar
from kschedctl.controllers.workloads.update_strategy import ROLLED
from kschedctl.questions.answer import Answer
from kschedctl.questions.cluster_request import ClusterRequest
from kschedctl.questions.devices.analysis import devices
from kschedctl.questions.devices.request import DevicesRequest
from kschedctl.questions.explain.analysis import explain, explain_daemon_set
from kschedctl.questions.explain.answer import ExplanationList
from kschedctl.questions.explain.request import ExplainRequest
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.lint.analysis import report
from kschedctl.questions.lint.document import LintView
from kschedctl.questions.nodes.request import NodesRequest
from kschedctl.questions.pod_selection import named_workload, workload_kind
from kschedctl.questions.preempt.analysis import preempt
from kschedctl.questions.preempt.answer import PreemptionList
from kschedctl.questions.preempt.request import PreemptRequest
from kschedctl.questions.request import AnalysisRequest, request_of
from kschedctl.questions.rollout.request import RolloutRequest
from kschedctl.questions.schema.schema import ANSWERS, schema_components
from kschedctl.questions.volumes.analysis import volumes
from kschedctl.questions.volumes.request import VolumesRequest
from kschedctl.questions.volumes.subjects import claim_or_pod, device_subject
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.rollout import restarted
from kschedctl.trials.whatif.targets import require_namespace
from kschedctl.web.mcp.shortened import Detail, Shortened, shortened
from kschedctl.web.questions import questions as ask
from kschedctl.web.questions.question import (
    OFFERED,
    Asked,
    AskedRequest,
    Body,
    Query,
    Question,
    answer_of,
    answer_request,
)
from kschedctl.web.questions.registry import BY_NAME

# The questions whose subject the API has in its path: a tool has it as a parameter.


class ClaimQuery(Query, frozen=True, kw_only=True):
    """The claim or pod of a question."""

    name: Annotated[
        str, Meta(description="A claim as NAMESPACE/NAME, or a pod as pod/NAMESPACE/NAME. Default: all claims.")
    ] = ""
    namespace: Annotated[str, Meta(description="The namespace of all claims, or of a name without one.")] = ""


class DeviceQuery(Query, frozen=True, kw_only=True):
    """The ResourceClaim or DeviceClass of a question."""

    name: Annotated[
        str,
        Meta(description="A ResourceClaim as NAMESPACE/NAME, or class/NAME of a DeviceClass. Default: all devices."),
    ] = ""


class WorkloadQuery(ask.ManifestQuery, frozen=True, kw_only=True):
    """The workload of a rollout."""

    workload: Annotated[
        str,
        Meta(
            description="A workload such as deploy/NAMESPACE/NAME, which is restarted; by default that of the manifest."
        ),
    ] = ""


def explain_pods(
    cluster: LoadedCluster, asked: AskedRequest[ask.PodQuery, ExplainRequest], handle: AnalysisHandle
) -> Answer:
    """Explain pods of the cluster or of a manifest."""
    changed, pods = ask.asked_pods(cluster, asked, handle)
    request = dataclasses.replace(asked.request, pod=tuple(pods))
    if request.is_daemon_set:
        return explain_daemon_set(changed, request, handle)
    answers = tuple(explain(changed, request, handle))
    return answers[0] if len(answers) == 1 else ExplanationList(items=answers)


def preempt_pods(
    cluster: LoadedCluster, asked: AskedRequest[ask.PodQuery, PreemptRequest], handle: AnalysisHandle
) -> Answer:
    """Show the victims of pods of the cluster or of a manifest."""
    changed, pods = ask.asked_pods(cluster, asked, handle)
    answers = preempt(changed, dataclasses.replace(asked.request, pod=tuple(pods)), handle)
    return answers[0] if len(answers) == 1 else PreemptionList(items=answers)


def roll_out(cluster: LoadedCluster, asked: Asked[WorkloadQuery], handle: AnalysisHandle) -> Answer:
    """Simulate the rollout of a workload of the cluster, or of that of a manifest."""
    name, namespace = asked.query.workload, asked.query.namespace
    if bool(name) == bool(asked.body.strip()):
        raise InputError("either a workload or a manifest is needed", path="workload", hint="give one of them")
    if name:
        if workload_kind(name) is None:
            raise InputError(f'"{name}" names no workload', path="workload", hint="give deploy/NAMESPACE/NAME")
        changed = asked.over(cluster, handle)
        found = named_workload(changed.cluster, name, ask.scope_of(namespace))
        return RolloutRequest(restarted(found.obj)).answer(changed, handle)
    manifests = asked.manifests(handle, namespace)
    rolled = [one for one in manifests.asked if isinstance(one.obj, ROLLED)]
    if len(rolled) != 1:
        raise InputError(f"the manifest has {len(rolled)} workloads that can be rolled out", hint="give one")
    changed = asked.over(cluster, handle, manifests.others)
    manifests.accepted(changed, handle)
    return RolloutRequest(rolled[0].obj, where=rolled[0].where).answer(changed, handle)


def show_volumes(cluster: LoadedCluster, asked: Asked[ClaimQuery], handle: AnalysisHandle) -> Answer:
    """Show the volumes of a claim or pod, or of all claims."""
    name, namespace = asked.query.name, asked.query.namespace
    if not name:
        query = ask.ClaimsQuery(namespace=namespace)
        return ask.show_claims(cluster, Asked(query, asked.what_ifs), handle)
    changed = asked.over(cluster, handle)
    require_namespace(changed.cluster, namespace)
    subject = claim_or_pod(changed, name, ask.scope_of(namespace))
    return volumes(changed, VolumesRequest(subjects=(subject,)), handle)[0]


def show_devices(cluster: LoadedCluster, asked: Asked[DeviceQuery], handle: AnalysisHandle) -> Answer:
    """Show the nodes with the devices of a claim or class, or all devices."""
    changed, name = asked.over(cluster, handle), asked.query.name
    subjects = (device_subject(changed, name, ask.scope_of("")),) if name else ()
    return devices(changed, DevicesRequest(subjects=subjects), handle)[0]


#: The tools by name, in the order in which somebody who looks for a cause needs them.
TOOLS: Final[Mapping[str, Question]] = MappingProxyType(
    {
        "pending": BY_NAME["find_changes"],
        "explain": Question("", explain_pods, ANSWERS["explain"], body=Body.OPTIONAL, check=ask.require_pod),
        "preempt": Question("", preempt_pods, ANSWERS["preempt"], body=Body.OPTIONAL, check=ask.require_pod),
        "nodes": Question("", answer_request, ANSWERS["nodes"], request=NodesRequest),
        "volumes": Question("", show_volumes, ANSWERS["volumes"]),
        "devices": Question("", show_devices, ANSWERS["devices"]),
        "simulate": BY_NAME["simulate_queue"],
        "capacity": BY_NAME["count_copies"],
        "provision": BY_NAME["provision_nodes"],
        "drain": BY_NAME["simulate_drain"],
        "rollout": Question("", roll_out, ANSWERS["rollout"], body=Body.OPTIONAL, is_job=True),
        "diff": BY_NAME["compare"],
        "lint": BY_NAME["lint_manifest"],
        "leader": BY_NAME["show_leaders"],
    }
)

#: The parameter with manifests, and that with the amount of detail.
MANIFEST: Final = "manifest"
DETAIL: Final = "detail"
_DETAIL: Final = {
    "type": "string",
    "enum": [*Detail],
    "default": Detail.SUMMARY.value,
    "description": "summary: what matters most, at most 20 kB. nodes: nodes one by one, too. all: everything, which "
    "can be megabytes.",
}
_WITHOUT_TEXTS: Final = ("description", "title")
_ANYTHING: Final = ("object", "array", "string", "number", "boolean", "null")


def request_of_tool(name: str) -> type[AnalysisRequest[Any]] | None:
    """Return the request that declares the question of a tool; ``None`` if it is declared by its function alone."""
    return None if name in ("diff", "lint") else request_of(name)


def description(name: str) -> str:
    """Return what a tool answers."""
    request = request_of_tool(name)
    return " ".join((request.texts()[""] if request else inspect.getdoc(TOOLS[name].run) or "").split())


def input_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's parameters, with the examples of the command that a tool can have."""
    question, request = TOOLS[name], request_of_tool(name)
    _, parts = schema_components((question.asks,), "#/$defs/{name}")
    own = parts.pop(question.asks.__name__)
    properties = dict(own.get("properties", {}))
    if question.body is not Body.NONE:
        properties[MANIFEST] = {"type": "string", "description": "Kubernetes manifests as YAML or JSON."}
    if question.what_ifs:
        for edit in OFFERED:
            option = edit.option
            text = f"What if: {option.help}{f' Form: {option.metavar}.' if option.metavar else ''}"
            properties[option.of_api] = {"type": "array", "items": {"type": "string"}, "description": text}
    properties[DETAIL] = _DETAIL
    required = [*own.get("required", ()), *([MANIFEST] if question.body is Body.REQUIRED else ())]
    lines = [example.arguments for example in request.examples] if request is not None else []
    shown = [found for line in lines if (found := arguments_of(line, question)) is not None]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **({"$defs": parts} if parts else {}),
        **({"examples": shown} if shown else {}),
    }


def output_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's answer; the texts about its fields are in the documentation."""
    kinds, parts = schema_components((*TOOLS[name].answers, Shortened), "#/$defs/{name}")
    schema: dict[str, Any] = parts.pop(Shortened.__name__)
    schema["properties"]["answer"] = {"oneOf": list(kinds[:-1])}
    return {**_bare(schema), "$defs": _bare(parts)}


def _bare(schema: Any) -> Any:
    """Return a schema without the texts for people; one that accepts everything says so."""
    if isinstance(schema, list):
        return [_bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    # Properties may have these names, too, and then they have schemas.
    kept = {key: value for key, value in schema.items() if not (key in _WITHOUT_TEXTS and isinstance(value, str))}
    return {key: _bare(value) for key, value in kept.items()} or {"anyOf": [{"type": each} for each in _ANYTHING]}


def arguments_of(line: str, question: Question) -> dict[str, Any] | None:
    """Return the arguments of a tool for an example of the command; ``None`` if it needs what only a command has.

    >>> arguments_of("drain node-7 --ignore-daemonsets", TOOLS["drain"])
    {'node': ['node-7'], 'ignore-daemonsets': True}
    """
    fields = {field.encode_name: field for field in msgspec.structs.fields(question.asks)}
    request = question.of_request
    flags = {f"--{known}": known for known in fields}
    flags |= {each.short: each.of_api for each in (request.options().values() if request else ()) if each.short}
    edits = {edit.option.flag: edit.option for edit in OFFERED} if question.what_ifs else {}
    subject = next((field for field in fields if field in ("pod", "node", "nodes", "name", "workload")), None)
    found: dict[str, Any] = {}
    words = iter(shlex.split(line)[1:])
    for word in words:
        if word == "--snapshot":
            next(words)
        elif word in edits:
            found.setdefault(edits[word].of_api, []).append(next(words) if edits[word].metavar else "true")
        elif word in flags:
            is_switch = fields[flags[word]].type is bool or fields[flags[word]].default is False
            value: Any = True if is_switch else next(words)
            is_number = isinstance(value, str) and value.isdigit()
            found[flags[word]] = int(value) if is_number else value
        elif not word.startswith("-") and subject is not None and not found:
            found[subject] = [word] if subject in ("node", "nodes") else word
        else:
            return None
    return found


def read(
    name: str, values: Sequence[tuple[str, str]], compare: tuple[ClusterRequest, ...] = ()
) -> tuple[Asked[Query], Detail]:
    """Read the arguments of a tool.

    Raises InputError if there is no such tool or parameter, or a value cannot be read.
    """
    if name not in TOOLS:
        close = similar(name, TOOLS)
        hint = f"did you mean {listed(close, 'or')}?" if close else f"the tools are {listed([*TOOLS], most=len(TOOLS))}"
        raise InputError(f'there is no tool "{name}"', hint=hint)
    question = TOOLS[name]
    wanted = [text for key, text in values if key == DETAIL] or [Detail.SUMMARY.value]
    manifests = [text for key, text in values if key == MANIFEST]
    if wanted[-1] not in [*Detail]:
        raise InputError(f"is not one of {listed([*Detail])}", path=DETAIL)
    if manifests and question.body is Body.NONE:
        raise InputError("this tool takes no manifest", path=MANIFEST)
    body = "\n---\n".join(manifests).encode("utf-8", "replace")
    others = [(key, text) for key, text in values if key not in (DETAIL, MANIFEST)]
    return question.asked({}, others, body, compare), Detail(wanted[-1])


def answer(
    cluster: LoadedCluster,
    name: str,
    values: Sequence[tuple[str, str]],
    compare: tuple[ClusterRequest, ...],
    handle: AnalysisHandle,
) -> tuple[bytes, str]:
    """Answer the question of a tool; parameters and errors are those of ``calls.answer``."""
    asked, detail = read(name, values, compare)
    wide = detail is not Detail.SUMMARY
    if name == "lint":
        linted = answer_of(ask.linted_manifest, cluster, asked, handle)
        return shortened(report(linted), LintView(linted=linted, wide=wide), detail, handle.notices)
    found: Answer = answer_of(TOOLS[name].run, cluster, asked, handle)
    return shortened(found, View(wide=wide), detail, handle.notices)
