"""Calls of all tools, and the official client of the protocol, over standard input and over HTTP."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Literal

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.paths import ROOT
from tests.web.running import Running

SHOP: Final = "fixtures/shop/cluster"
DEPLOYMENT: Final = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: new}}
  template:
    metadata: {labels: {app: new}}
    spec: {containers: [{name: web, image: web:1, resources: {requests: {cpu: 100m}}}]}
"""
#: A call of each tool, with a pod and a node of the cluster in its place.
CALLS: Final[dict[str, dict[str, Any]]] = {
    "pending": {},
    "explain": {"pod": "POD"},
    "preempt": {"pod": "POD"},
    "nodes": {"by": "zone"},
    "volumes": {},
    "devices": {},
    "simulate": {"cordon": ["NODE"]},
    "capacity": {"pod": "POD", "max": 20},
    "provision": {},
    "drain": {"node": ["NODE"], "ignore-daemonsets": True, "delete-emptydir-data": True},
    "rollout": {"manifest": DEPLOYMENT},
    "diff": {},
    "lint": {"manifest": DEPLOYMENT},
    "leader": {},
}


def calls(pod: str, node: str) -> dict[str, dict[str, Any]]:
    """Return the calls for a pod and a node of a cluster."""
    places = {"POD": pod, "NODE": node}

    def put(value: Any) -> Any:
        return [put(each) for each in value] if isinstance(value, list) else places.get(str(value), value)

    return {tool: {name: put(value) for name, value in given.items()} for tool, given in CALLS.items()}


def over_stdio(*options: str, hook: Path = ROOT) -> Client:
    """Return a client that starts ``kschedctl mcp``, all of whose processes run ``sitecustomize`` of a folder."""
    environment = {**os.environ, "PYTHONPATH": f"{hook}{os.pathsep}{ROOT}"}
    words = ["-m", "kschedctl", "mcp", *options]
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=words, env=environment, cwd=ROOT)))


def over_http(server: Running, mode: Literal["auto", "legacy"] = "auto") -> Client:
    """Return a client of a running ``kschedctl serve``; a legacy one has a session, as clients before 2026."""
    return Client(f"http://{server.host}:{server.port}/mcp", mode=mode)


def asked(client: Client, ask: Callable[[Client], Awaitable[Any]]) -> Any:
    """Ask with a client, and return what the function returned."""

    async def run() -> Any:
        async with client:
            return await ask(client)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    """Return the text of a result."""
    (content,) = result.content
    text: str = content.text
    return text
