"""The settings for assistants, in docs/agents.md and ``examples/agents``: they can be read, and name what exists."""

import importlib.util
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedctl.web.mcp.calls import CLUSTER, PAGES, SCHEME, pairs
from kschedctl.web.mcp.server import TASKS
from kschedctl.web.mcp.tools import TOOLS, input_schema, read
from tests.docs.test_pages import CODE, OTHER, check_command
from tests.paths import ROOT

PAGE = ROOT / "docs" / "agents.md"
FOLDER = ROOT / "examples" / "agents"
HOLMES = FOLDER / "holmesgpt.yaml"
TEXTS = [PAGE, *sorted(FOLDER.glob("*.md"))]
BLOCK = re.compile(r"^```(json|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `([a-z-]+)` \| .*? \|(.*)\|$", re.MULTILINE)
#: A command after the name that an assistant knows it by.
ADDED = re.compile(r"^ +claude mcp add (?:-\S+ \S+ )*\S+ -- (.*)$", re.MULTILINE)


def blocks() -> Iterator[tuple[str, Any]]:
    """Yield the settings in pages and files, with their place."""
    for path in TEXTS:
        for number, (kind, text) in enumerate(BLOCK.findall(path.read_text()), 1):
            yield f"{path.name} {number}", json.loads(text) if kind == "json" else yaml.safe_load(text)
    for path in sorted(FOLDER.glob("*.yaml")):
        yield path.name, yaml.safe_load(path.read_text())


def servers(settings: Any) -> dict[str, dict[str, Any]]:
    """Return the servers in settings by name; HolmesGPT has their addresses one level deeper."""
    (found,) = [settings[key] for key in ("mcpServers", "servers", "mcp_servers") if key in settings]
    return {name: server.get("config", server) for name, server in found.items()}


SETTINGS = [(place, settings) for place, settings in blocks() if "pod" not in settings]
ENTRIES = [
    (place, server) for place, settings in SETTINGS for name, server in servers(settings).items() if "k8s" not in name
]
CALLS = [settings for _, settings in blocks() if "pod" in settings]


def section(heading: str) -> str:
    return PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_there_are_settings_of_each_client() -> None:
    assert len(SETTINGS) == 7
    kinds = ["url" if "url" in server else "command" for _, server in ENTRIES]
    assert (kinds.count("url"), kinds.count("command")) == (3, 4)


@pytest.mark.parametrize(("place", "server"), ENTRIES, ids=[place for place, _ in ENTRIES])
def test_settings_start_a_command_or_name_the_server(place: str, server: dict[str, Any]) -> None:
    if "command" in server:
        assert Path(server["command"]).name == "kschedctl"
        assert server["args"][0] == "mcp"
        check_command(shlex.join(["kschedctl", *server["args"]]))
        assert server.keys() <= {"type", "command", "args"}
        assert server.get("type", "stdio") == "stdio"
    else:
        assert server["url"] == "http://127.0.0.1:8080/mcp"
        assert re.fullmatch(r"Bearer \$?\{.*\}", server["headers"]["Authorization"])
        assert server.get("type", server.get("mode")) in ("http", "streamable-http")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_commands_have_these_options(path: Path) -> None:
    text = path.read_text()
    code = [block[1] or block[2] for block in CODE.finditer(text)]
    for command in [*ADDED.findall(text), *(found for part in code for found in OTHER.findall(part))]:
        check_command(command.strip())


def test_an_input_of_vs_code_is_declared() -> None:
    for _, settings in SETTINGS:
        declared = {each["id"] for each in settings.get("inputs", ())}
        assert set(re.findall(r"\$\{input:([^}]+)\}", json.dumps(settings))) == declared


def test_the_table_has_each_tool_with_its_parameters() -> None:
    rows = dict(ROW.findall(section("Tools").partition("\n\nParameters")[0]))
    assert [*rows] == [*TOOLS]
    for name, parameters in rows.items():
        assert set(re.findall(r"`([a-z-]+)`", parameters)) <= input_schema(name)["properties"].keys()


def test_what_ifs_are_those_that_the_page_names() -> None:
    for name in TOOLS:
        parameters = input_schema(name)["properties"].keys()
        assert "apply" not in parameters
        assert ({"cordon", "set-request", "tolerate"} <= parameters) == (name != "leader")


@pytest.mark.parametrize("arguments", CALLS)
def test_calls_can_be_made(arguments: dict[str, Any]) -> None:
    read("explain", pairs(arguments))


def test_there_is_a_call() -> None:
    assert CALLS


def test_resources_and_prompts_are_those_of_the_server() -> None:
    text = section("Resources and prompts")
    addresses = set(re.findall(rf"`{SCHEME}([^`]+)`", text))
    assert {address.partition("/")[0] for address in addresses} == {CLUSTER.removeprefix(SCHEME), *PAGES}
    prompts = re.findall(r"^\| `([a-z-]+)` \| `([a-z]+)` \|", text, re.MULTILINE)
    assert prompts == [(name, task.argument) for name, task in TASKS.items()]


def test_tools_that_holmesgpt_is_told_about_exist() -> None:
    told = yaml.safe_load(HOLMES.read_text())["mcp_servers"]["kschedctl"]
    assert told.keys() == {"description", "config", "llm_instructions"}
    assert told["config"].keys() == {"mode", "url", "headers"}
    words = re.findall(r"(?:the tool|with) ([a-z]+) for", told["llm_instructions"])
    assert words == ["pending", "explain"]
    assert {*words} <= TOOLS.keys()
    what_ifs = re.findall(r"such as ([a-z-]+) or ([a-z-]+)", " ".join(told["llm_instructions"].split()))
    assert {*what_ifs[0]} <= input_schema("explain")["properties"].keys()


@pytest.mark.skipif(importlib.util.find_spec("holmes") is None, reason="HolmesGPT is not installed")
def test_holmesgpt_reads_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSCHEDCTL_TOKEN", "secret")
    toolsets = importlib.import_module("holmes.plugins.toolsets")
    protocol = importlib.import_module("holmes.plugins.toolsets.mcp.toolset_mcp")
    (toolset,) = toolsets.load_toolsets_from_file(str(HOLMES))
    assert isinstance(toolset, protocol.RemoteMCPToolset)
    config = protocol.MCPConfig(**toolset.config)
    assert config.mode is protocol.MCPMode.STREAMABLE_HTTP
    assert config.headers == {"Authorization": "Bearer secret"}
