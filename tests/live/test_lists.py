"""Lists in pages, and all that can come between."""

from pathlib import Path
from typing import Any

import pytest

import kschedctl
from kschedctl.common.errors import ClusterError
from kschedctl.objects.kinds import LISTED_KINDS
from kschedctl.sources.live.reader import load_live
from tests.builders import make_pod
from tests.live.plain_server import Answer, discovery, page, serving

REST: tuple[int, Any] = (0, None)


def names(answer: Answer, folder: Path) -> tuple[tuple[str, ...], list[str]]:
    """The nodes that are read, and what was asked for them."""
    with serving(answer, folder) as (live, asked):
        found = load_live(live)
        return tuple(found.cluster.nodes.names), [path for path in asked if path.startswith("/api/v1/nodes")]


def test_pages_are_read_to_the_end(tmp_path: Path) -> None:
    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        if path != "/api/v1/nodes":
            return REST
        pages = {"": page("a", "b", following="2", left=1), "2": page("c")}
        assert query["limit"] == "2"
        return 200, pages[query.get("continue", "")]

    found, asked = names(answer, tmp_path)
    assert found == ("a", "b", "c")
    assert len(asked) == 2


def test_list_that_has_grown_too_old_is_begun_anew(tmp_path: Path) -> None:
    """A token that has expired: nothing of the old list is mixed into the new one."""
    expired = iter([True])

    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        if path != "/api/v1/nodes":
            return REST
        if "continue" not in query:
            return 200, page("old" if (first := next(fresh)) else "new", "b", following="1" if first else "2", left=1)
        if query["continue"] == "1" and next(expired):
            return 410, {"kind": "Status", "message": "The provided continue parameter is too old"}
        return 200, page("c")

    fresh = iter([True, False])
    found, asked = names(answer, tmp_path)
    assert found == ("new", "b", "c")
    assert len(asked) == 4


def test_list_that_always_grows_too_old_is_asked_for_at_once(tmp_path: Path) -> None:
    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        if path != "/api/v1/nodes":
            return REST
        if "limit" not in query:
            return 200, page("a", "b", "c")
        return (410, {}) if "continue" in query else (200, page("a", following="x", left=2))

    assert names(answer, tmp_path)[0] == ("a", "b", "c")


def test_only_pods_that_have_not_finished_are_asked_for(tmp_path: Path) -> None:
    with serving(lambda path, query: REST, tmp_path) as (live, asked):
        load_live(live)
    (pods,) = [path for path in asked if path.startswith("/api/v1/pods")]
    assert "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed" in pods
    assert not any("secrets" in path or "configmaps" in path for path in asked)


def test_kind_that_may_not_be_listed_is_noted(tmp_path: Path) -> None:
    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        return (403, {"message": "no"}) if path == "/api/v1/persistentvolumes" else REST

    with serving(answer, tmp_path) as (live, _):
        found = load_live(live)
    assert found.cluster.not_listed == {"PersistentVolume"}
    # Whatever else the server does not have, the cluster has none of.
    assert found.cluster.listed == {
        type_.__name__: "" for type_ in LISTED_KINDS.values() if type_.__name__ != "PersistentVolume"
    }
    assert found.paths == ("context here",)
    assert found.cluster.server_version == "v1.36.3"


def test_nothing_is_decided_without_nodes(tmp_path: Path) -> None:
    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        return (403, {"message": "no"}) if path == "/api/v1/nodes" else REST

    with serving(answer, tmp_path) as (live, _):
        cluster = kschedctl.load(live=live)
    for ask in (lambda: cluster.decide(make_pod()), cluster.nodes, cluster.simulate, cluster.verify):
        with pytest.raises(ClusterError, match="nodes cannot be listed by this user"):
            ask()


def test_kind_that_goes_away_is_no_problem(tmp_path: Path) -> None:
    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        return (404, {}) if path == "/api/v1/persistentvolumes" else REST

    with serving(answer, tmp_path) as (live, _):
        assert load_live(live).cluster.warnings == ()


def test_newest_version_of_a_group_is_asked_for(tmp_path: Path) -> None:
    versions = [("v1", [("storageclasses", "StorageClass")]), ("v1beta1", [("storageclasses", "StorageClass")])]

    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        return (
            (200, discovery([("storage.k8s.io", versions), ("acme.com", [("v1", [("nodes", "Node")])])]))
            if path == "/apis"
            else REST
        )

    with serving(answer, tmp_path) as (live, asked):
        load_live(live)
    assert [path for path in asked if path.startswith("/apis/")] == ["/apis/storage.k8s.io/v1/storageclasses?limit=2"]


@pytest.mark.parametrize(
    ("path", "status", "body", "problem"),
    [
        ("/api/v1/pods", 500, {"message": "etcd is gone"}, "/api/v1/pods responds with status 500: etcd is gone"),
        ("/api/v1/pods", 200, b"<html>", "/api/v1/pods does not respond with a list"),
        ("/api", 401, {}, "does not accept the credentials of context here"),
        ("/api", 403, {"message": "no"}, "does not report its kinds: no"),
        ("/api", 200, {"kind": "APIVersions"}, "is older than Kubernetes 1.27"),
        ("/version", 200, b"hello", "does not respond like an API server"),
    ],
    ids=["error", "no JSON", "who are you", "no discovery", "old", "no API server"],
)
def test_errors_of_the_server(tmp_path: Path, path: str, status: int, body: Any, problem: str) -> None:
    with (
        serving(lambda asked, _: (status, body) if asked == path else REST, tmp_path) as (live, _),
        pytest.raises(ClusterError) as error,
    ):
        load_live(live)
    assert problem in str(error.value)


def test_object_that_is_wrong_is_named(tmp_path: Path) -> None:
    def answer(path: str, query: dict[str, str]) -> tuple[int, Any]:
        return (200, {"items": [{"metadata": {"name": 7}}]}) if path == "/api/v1/pods" else REST

    with serving(answer, tmp_path) as (live, _), pytest.raises(ClusterError) as error:
        load_live(live)
    assert str(error.value).startswith("context here, pods, document 1, item 1: metadata.name: 7 is a number")


def test_progress_ends_with_an_empty_line(tmp_path: Path) -> None:
    from dataclasses import replace

    shown: list[str] = []
    with serving(lambda path, query: REST, tmp_path) as (live, _):
        load_live(replace(live, show_progress=shown.append))
    assert shown[-2:] == ["reading here: 3 of 3 kinds", ""]
