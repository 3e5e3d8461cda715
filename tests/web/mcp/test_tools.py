"""Tools: their schemas, their examples, and what their arguments may be."""

import json
import re
from typing import Any

import jsonschema
import pytest

import kschedctl
from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.web.mcp.calls import pairs
from kschedctl.web.mcp.shortened import Detail
from kschedctl.web.mcp.tools import TOOLS, answer, description, input_schema, output_schema, read
from tests.paths import ROOT
from tests.web.mcp.asking import DEPLOYMENT, calls

GOLDEN = sorted((ROOT / "tests" / "cli" / "golden").glob("*.txt"))
#: The tools by the kind of their answers.
KINDS = {kind.__struct_config__.tag: tool for tool in TOOLS for kind in TOOLS[tool].answers}


def ask(cluster: kschedctl.SchedulingCluster, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], str]:
    data, text = answer(cluster.engine, tool, pairs(arguments), (), AnalysisHandle())
    return json.loads(data), text


@pytest.fixture(scope="module")
def shop() -> kschedctl.SchedulingCluster:
    return kschedctl.load(ROOT / "fixtures" / "shop" / "cluster")


def test_tools_are_the_questions_by_the_names_of_their_commands() -> None:
    assert [*TOOLS] == [*calls("", "")]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_described(tool: str) -> None:
    taken, given = input_schema(tool), output_schema(tool)
    for schema in (taken, given):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert description(tool).endswith(".")
    assert [name for name, value in taken["properties"].items() if not value.get("description", "").endswith(".")] == []
    assert "description" not in json.dumps(given["$defs"]).replace('"description": {', "")
    for example in taken.get("examples", ()):
        jsonschema.validate(example, taken)
        read(tool, pairs(example))


def test_examples_are_those_of_the_command() -> None:
    assert input_schema("drain")["examples"] == [
        {"node": ["node-7"], "ignore-daemonsets": True},
        {
            "selector": "pool=general",
            "ignore-daemonsets": True,
            "delete-emptydir-data": True,
            "rolling": True,
            "surge": 1,
        },
    ]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_schemas_accept_the_answers_of_the_golden_files(path: Any) -> None:
    text = re.sub(r"^  ", "", path.read_text(), flags=re.M)
    decoder = json.JSONDecoder()
    for start in re.finditer(r"^\{", text, re.M):
        try:
            found, _ = decoder.raw_decode(text, start.start())
        except json.JSONDecodeError:
            continue
        tool = KINDS.get(found.get("kind", ""))
        if tool is not None and "apiVersion" in found:
            jsonschema.validate({"summary": "", "answer": found}, output_schema(tool))


@pytest.mark.parametrize("detail", Detail)
@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool not in ("provision", "diff")])
def test_the_schemas_accept_what_is_answered(shop: kschedctl.SchedulingCluster, tool: str, detail: Detail) -> None:
    data, text = ask(shop, tool, {**calls("shop/search-3", "node-1")[tool], "detail": detail.value})
    jsonschema.validate(data, output_schema(tool))
    assert next(iter(data)) == "summary"
    assert data["summary"].split(":")[0] in text
    if detail is Detail.ALL:
        assert "leftOut" not in data


def test_karpenter_is_asked() -> None:
    data, _ = ask(kschedctl.load(ROOT / "fixtures" / "pools" / "cluster"), "provision", {})
    jsonschema.validate(data, output_schema("provision"))
    assert [node["pool"] for node in data["answer"]["nodes"]] == ["general"]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("explain", {"pod": "shop/web-7"}, "shop/web-7 fits on 5 of 15 nodes"),
        ("explain", {"pod": "web-7"}, "shop/web-7 fits on 5 of 15 nodes"),
        ("explain", {"pod": "web-7", "namespace": "shop"}, "shop/web-7 fits on 5 of 15 nodes"),
        ("explain", {"pod": "pod/shop/web-7", "cordon": ["node-8"]}, "shop/web-7 fits on 4 of 15 nodes"),
        ("explain", {"manifest": DEPLOYMENT}, "Deployment shop/web, 2 replicas; one of them: shop/web-"),
        ("preempt", {"pod": "shop/search-3"}, "shop/search-3 would evict 1 pod from node-8"),
        ("volumes", {"name": "data/data-postgres-0"}, "data/data-postgres-0"),
        ("nodes", {"nodes": ["node-8"]}, "node-8 is ready"),
        ("rollout", {"manifest": DEPLOYMENT}, "shop/web: the rollout finishes"),
    ],
    ids=lambda value: [*value][-1] if isinstance(value, dict) else None,
)
def test_a_tool_answers(shop: kschedctl.SchedulingCluster, tool: str, arguments: dict[str, Any], expected: str) -> None:
    assert ask(shop, tool, arguments)[0]["summary"].startswith(expected)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("explains", {}, 'there is no tool "explains"\n  did you mean explain?'),
        ("explain", {}, "pod: either a pod or a manifest is needed\n  give one of them"),
        ("explain", {"pod": "shop/web-8"}, "the snapshot has no pod shop/web-8"),
        ("explain", {"pods": "shop/web-7"}, '"pods" is not a parameter here\n  did you mean pod?'),
        ("explain", {"pod": "shop/web-7", "suggest": 101}, "suggest: "),
        ("explain", {"pod": {"name": "web-7"}}, "pod: is neither a text nor a number"),
        ("explain", {"manifest": {"kind": "Pod"}}, "manifest: is neither a text nor a number"),
        ("explain", {"manifest": "kind: Pod"}, ""),
        ("explain", {"pod": "shop/web-7", "detail": "most"}, "detail: is not one of summary, nodes and all"),
        ("drain", {"node": ["node-99"]}, "the cluster has no node node-99\n  did you mean node-9?"),
        ("drain", {}, "node: name nodes, or use selector or zone"),
        ("drain", {"node": ["node-1"], "manifest": ""}, "manifest: this tool takes no manifest"),
        ("drain", {"node": ["node-1"], "surge": "many"}, "surge: is not a whole number"),
        ("nodes", {"selector": "a in (b"}, ""),
        ("rollout", {"workload": "web"}, 'workload: "web" names no workload\n  give deploy/NAMESPACE/NAME'),
        ("provision", {}, "the cluster has no NodePool of Karpenter"),
        ("provision", {"instance-types": "/etc/passwd"}, '"instance-types" is not a parameter here'),
        ("diff", {"to": "/etc"}, "to: the server was not started with this snapshot to compare with"),
        ("lint", {}, "the request has no manifest"),
    ],
    ids=lambda value: next(iter(value), "nothing") if isinstance(value, dict) else None,
)
def test_a_wrong_argument_is_named_with_what_to_do(
    shop: kschedctl.SchedulingCluster, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    with pytest.raises(KschedctlError) as caught:
        ask(shop, tool, arguments)
    assert str(caught.value).startswith(expected)
    assert isinstance(caught.value, InputError)
