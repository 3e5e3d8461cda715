"""A running cluster is read and never written to."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from kschedctl.live.reader import LiveReader
from tests.live.plain_server import discovery, serving

CONFIDENTIAL = ("Secret", "ConfigMap", "ServiceAccount")


def test_nothing_but_get_is_asked_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = []
    parse = BaseHTTPRequestHandler.parse_request

    def parse_and_note(self: BaseHTTPRequestHandler) -> bool:
        parsed = parse(self)
        methods.append(self.command)
        return parsed

    monkeypatch.setattr(BaseHTTPRequestHandler, "parse_request", parse_and_note)
    with serving(lambda path, query: (0, b""), tmp_path) as (context, asked):
        list(LiveReader(context))
    assert len(asked) > 5
    assert set(methods) == {"GET"}


def test_no_secrets_are_asked_for(tmp_path: Path) -> None:
    kinds = [("nodes", "Node"), ("pods", "Pod"), *((f"{kind.lower()}s", kind) for kind in CONFIDENTIAL)]
    offered = discovery([("", [("v1", kinds)])])
    with serving(lambda path, query: (200, offered) if path == "/api" else (0, b""), tmp_path) as (context, asked):
        list(LiveReader(context))
    assert {path.partition("?")[0] for path in asked} == {"/version", "/api", "/apis", "/api/v1/nodes", "/api/v1/pods"}
