"""A request whose time is over before it is sent, as logging in has taken it all, is an error and not a crash."""

import dataclasses
import time
from pathlib import Path

import pytest

from kschedctl.common.errors import ClusterError
from kschedctl.sources.live.api_server import Connection, ObjectClient
from tests.live.plain_server import serving


def slow_login() -> str:
    time.sleep(0.2)
    return "Bearer late"


def test_reading(tmp_path: Path) -> None:
    with serving(lambda path, query: (200, {}), tmp_path) as (live, asked):
        connection = Connection(dataclasses.replace(live, request_seconds=0.1))
        connection._settings = dataclasses.replace(connection._settings, authorization=slow_login)
        with pytest.raises(ClusterError, match=r"/version was not queried within 0\.1 s"):
            connection.get("/version")
    assert asked == []


def test_writing(tmp_path: Path) -> None:
    with serving(lambda path, query: (200, {}), tmp_path) as (live, asked):
        client = ObjectClient(live)
        client._settings = dataclasses.replace(client._settings, authorization=slow_login)
        with pytest.raises(ClusterError, match=r"/version was not queried within 0\.1 s"):
            client.request("GET", "/version", None, 0.1)
    assert asked == []
