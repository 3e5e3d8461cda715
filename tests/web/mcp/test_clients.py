"""The official client calls every tool, over standard input and over HTTP."""

import http.client
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from kschedctl.web.mcp.tools import TOOLS
from tests.paths import ROOT
from tests.web.mcp.asking import SHOP, asked, calls, over_http, over_stdio, text_of
from tests.web.running import Running, running

OPTIONS = ("--snapshot", SHOP, "--compare", SHOP)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(*OPTIONS, "--workers", "1") as found:
        yield found


@pytest.fixture(params=["stdio", "http", "http, before 2026"])
def connect(request: pytest.FixtureRequest) -> Callable[[], Client]:
    if request.param == "stdio":
        return lambda: over_stdio(*OPTIONS)
    server: Running = request.getfixturevalue("server")
    return lambda: over_http(server, mode="auto" if request.param == "http" else "legacy")


def test_every_tool_answers(connect: Callable[[], Client]) -> None:
    async def ask(client: Client) -> tuple[list[Any], dict[str, Any]]:
        listed = (await client.list_tools()).tools
        every = calls("shop/search-3", "node-1").items()
        return listed, {tool: await client.call_tool(tool, arguments) for tool, arguments in every}

    listed, results = asked(connect(), ask)
    assert [tool.name for tool in listed] == [*TOOLS]
    for tool in listed:
        hints = tool.annotations
        assert (hints.read_only_hint, hints.idempotent_hint, hints.open_world_hint) == (True, True, False)
    assert [tool for tool, result in results.items() if result.is_error] == ["provision"]
    assert text_of(results["provision"]).startswith("the cluster has no NodePool of Karpenter\n  ")
    for tool in sorted({*results} - {"provision"}):
        summary = results[tool].structured_content["summary"]
        assert summary
        assert "\n" not in summary
    assert text_of(results["explain"]).startswith(results["explain"].structured_content["summary"])


def test_pages_and_prompts(connect: Callable[[], Client]) -> None:
    async def ask(client: Client) -> list[str]:
        addresses = [each.uri for each in (await client.list_resources()).resources]
        addresses += ["kschedctl://diagnoses/lost-label", "kschedctl://reasons/NodePorts", "kschedctl://rules/KS101"]
        texts = [(await client.read_resource(address)).contents[0].text for address in addresses]  # type: ignore[union-attr]
        with pytest.raises(MCPError, match='there is no page "lost-lable"; did you mean lost-label'):
            await client.read_resource("kschedctl://diagnoses/lost-lable")
        with pytest.raises(MCPError, match="there is no resource"):
            await client.read_resource("file:///etc/passwd")
        prompts = (await client.list_prompts()).prompts
        for name, argument in ((each.name, each.arguments[0].name) for each in prompts if each.arguments):
            (message,) = (await client.get_prompt(name, {argument: "a\nb"})).messages
            texts.append(message.content.text)  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="node is missing"):
            await client.get_prompt("plan-drain")
        return texts

    cluster, diagnoses, reasons, rules, diagnosis, reason, rule, *prompts = asked(connect(), ask)
    assert "15 nodes" in cluster
    assert "kschedctl://diagnoses/lost-label: A label that the pod requires" in diagnoses
    assert "kschedctl://reasons/NodePorts: " in reasons
    assert "kschedctl://rules/KS101: " in rules
    assert diagnosis.startswith("# lost-label\n\nA label")
    assert "Extension points" in reason
    assert "KS101" in rule
    assert [text.partition("\n")[0].count(r'"a\nb"') for text in prompts] == [1, 1]
    named = {word.strip(".,") for text in prompts for word in text.split()}
    assert {"explain", "volumes", "preempt", "capacity", "provision", "pending", "drain", "nodes"} <= named & {*TOOLS}


def test_the_rules_about_who_may_ask_are_those_of_the_server(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t" * 32)
    token.chmod(0o600)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    own = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with running("--snapshot", SHOP, "--workers", "1", "--token-file", str(token)) as server:

        def status(**headers: str) -> int:
            connection = http.client.HTTPConnection(server.host, server.port, timeout=120)
            sent = own | {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("POST", "/mcp", body, sent)
            found = connection.getresponse().status
            connection.close()
            return found

        known = f"Bearer {'t' * 32}"
        assert (status(), status(Authorization="Bearer x")) == (401, 401)
        assert status(Authorization=known, Origin="https://elsewhere.example") == 403
        assert status(Authorization=known) not in (401, 403)


def test_a_snapshot_that_cannot_be_read_is_an_error_at_the_start() -> None:
    words = [sys.executable, "-m", "kschedctl", "mcp", "--snapshot", "nowhere.yaml"]
    # The client sends nothing and keeps its end open: the server ends by itself.
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.read() == b""
        assert run.stderr.read().decode().startswith("error: nowhere.yaml: ")
        assert run.wait() == 2


@pytest.mark.slow
def test_the_inspector_lists_the_tools_without_a_warning() -> None:
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("install npm, which downloads the MCP Inspector")
    inspector = [npx, "--yes", "@modelcontextprotocol/inspector@2.12.0", "--cli"]
    words = [
        *inspector,
        sys.executable,
        "-m",
        "kschedctl",
        "mcp",
        "--snapshot",
        SHOP,
        "--method",
        "tools/list",
        "--strict",
    ]
    run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT)
    if "npm error" in run.stderr:
        pytest.skip(f"npm could not download the MCP Inspector: {run.stderr.splitlines()[-1]}")
    assert [line for line in run.stderr.splitlines() if not line.startswith("npm warn")] == []
    assert [tool["name"] for tool in json.loads(run.stdout)["tools"]] == [*TOOLS]
