"""Answers that fit a context window."""

import json

import jsonschema
import pytest

import kschedctl
from benchmarks import synthetic
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.web.mcp.calls import pairs
from kschedctl.web.mcp.shortened import Detail
from kschedctl.web.mcp.tools import TOOLS, answer, output_schema
from tests.web.mcp.asking import calls


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> kschedctl.SchedulingCluster:
    path = tmp_path_factory.mktemp("large") / "cluster.json"
    waiting = ({**pod, "spec": {**pod["spec"], "nodeName": ""}} for pod in synthetic.pods(40, 1))
    every = (*synthetic.namespaces(), *synthetic.nodes(700), *synthetic.pods(2000, 700))
    renamed = ({**pod, "metadata": {**pod["metadata"], "name": f"waits-{i}"}} for i, pod in enumerate(waiting))
    synthetic.write_list(path, (*every, *renamed))
    return kschedctl.load(path)


# There is no pool of Karpenter, no other snapshot, and no namespace of that workload.
@pytest.mark.parametrize("tool", sorted({*TOOLS} - {"provision", "diff", "rollout"}))
def test_a_summary_has_at_most_20_kb(large: kschedctl.SchedulingCluster, tool: str) -> None:
    pod = next(pod.key for pod in large.pods if not pod.spec.node_name)
    data, text = answer(large.engine, tool, pairs(calls(pod, "node-1")[tool]), (), AnalysisHandle())
    message = {"content": [{"type": "text", "text": text}], "structuredContent": json.loads(data)}
    assert len(json.dumps(message, ensure_ascii=False).encode()) < 20_000
    jsonschema.validate(json.loads(data), output_schema(tool))


def test_what_is_left_out_is_counted(large: kschedctl.SchedulingCluster) -> None:
    pod = next(pod.key for pod in large.pods if not pod.spec.node_name)

    def ask(detail: Detail) -> tuple[dict[str, object], str]:
        values = pairs({"pod": pod, "detail": detail.value})
        data, text = answer(large.engine, "explain", values, (), AnalysisHandle())
        return json.loads(data), text

    summary, _ = ask(Detail.SUMMARY)
    left_out = {each["field"]: (each["shown"], each["total"]) for each in summary["leftOut"]}  # type: ignore[attr-defined]
    assert left_out["nodes"] == (0, 700)
    assert summary["more"] == "detail nodes shows nodes one by one; detail all shows everything"
    nodes, text = ask(Detail.NODES)
    assert len(json.dumps(nodes)) < 140_000
    assert len(text) < 51_000
    assert nodes["more"] == "detail all shows everything"
    whole, text = ask(Detail.ALL)
    assert whole["answer"] == large.explain(pod).to_dict()
    assert "more lines" not in text
