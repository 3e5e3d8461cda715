"""Validation compared with a real API server: equal rejections and warnings, with equal messages."""

import http.client
import json
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kschedctl.objects.releases.release import RELEASES
from tests.live.control_plane import ControlPlane, assets_release, missing_assets
from tests.objects.validation.generator import made_up
from tests.objects.validation.probes import BASES, NEWEST, NEWEST_GATES, Probe, newest_probes, probes
from tests.objects.validation.saying import RELEASE, Said, normal, said

pytestmark = pytest.mark.live

_PER_KIND: Final = 100
_UNREAD: Final = re.compile(r'^\S+ in version "\S+" cannot be handled as a \S+: ')
_FORBIDDEN: Final = re.compile(r'^\S+ "\S*" is forbidden: ')
_WARNING: Final = re.compile(r'299 - "(.*)"$', re.DOTALL)
_CLUSTER_WIDE: Final = ("PersistentVolume", "PriorityClass", "StorageClass")
#: A message whose position depends on the iteration order of a Go map.
_ANY_ORDER: Final = "must populate the given metric source only"


class Asked:
    """A connection to an API server for dry-run requests."""

    def __init__(self, kubeconfig: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        server = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        self._connection = http.client.HTTPSConnection(server.removeprefix("https://"), context=context)

    def said(self, obj: dict[str, Any]) -> Said:
        """Return the API server's messages about an object; it validates no pods of a workload."""
        head = {"Authorization": "Bearer admin", "Content-Type": "application/json"}
        self._connection.request("POST", _path(obj), json.dumps(obj), head)
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        warned = [_WARNING.fullmatch(value) for name, value in response.getheaders() if name.lower() == "warning"]
        texts = tuple(match[1].replace('\\"', '"').replace("\\\\", "\\") for match in warned if match is not None)
        refused: Iterator[str] = iter(())
        if response.status >= http.client.BAD_REQUEST:
            refused = _causes(answer)
        return Said(normal(refused), (), texts)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _path(obj: dict[str, Any]) -> str:
    version, kind = obj["apiVersion"], obj["kind"]
    plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
    root = "api" if "/" not in version else "apis"
    space = "" if kind in _CLUSTER_WIDE else "namespaces/default/"
    return f"/{root}/{version}/{space}{plural}?dryRun=All&fieldValidation=Strict"


def _claim_names(stateful_set: dict[str, Any]) -> set[Any]:
    claims = stateful_set.get("spec", {}).get("volumeClaimTemplates")
    return {str((claim.get("metadata") or {}).get("name")) for claim in claims or () if isinstance(claim, dict)}


def _causes(answer: dict[str, Any]) -> Iterator[str]:
    if answer["reason"] == "Invalid":
        for cause in answer["details"]["causes"]:
            yield f"{cause['field']}: {cause['message']}"
    else:
        yield _FORBIDDEN.sub("", _UNREAD.sub("", answer["message"]))


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    if missing := missing_assets():
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("validation"))
    try:
        plane.start("--allow-privileged=true")
        asked = Asked(plane.kubeconfig)
        try:
            yield asked
        finally:
            asked.close()
    finally:
        plane.stop()


@pytest.mark.parametrize("probe", probes(), ids=str)
def test_the_table_is_what_it_says(probe: Probe, asked: Asked) -> None:
    if assets_release() != RELEASE.version:
        pytest.skip(f"the table has the messages of {RELEASE.version}")
    found = asked.said(probe.object)
    assert found.refused == probe.refused
    assert sorted(found.warned) == sorted(probe.warned)


@pytest.mark.parametrize("gates_on", [False, True], ids=["no gate", "gates"])
def test_the_table_of_the_newest_release_is_what_it_says(
    gates_on: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if missing := missing_assets():
        pytest.skip(f"no control plane to test against: {missing}")
    if assets_release() != NEWEST:
        pytest.skip(f"the table has the messages of {NEWEST}")
    plane = ControlPlane(tmp_path_factory.mktemp("newest"))
    try:
        gates = ",".join(f"{gate}={str(gates_on).lower()}" for gate in NEWEST_GATES)
        plane.start("--allow-privileged=true", f"--feature-gates={gates}")
        asked = Asked(plane.kubeconfig)
        try:
            for probe in newest_probes():
                if probe.gates_on == gates_on:
                    found = asked.said(probe.object)
                    assert found.refused == probe.refused, str(probe)
                    assert sorted(found.warned) == sorted(probe.warned), str(probe)
        finally:
            asked.close()
    finally:
        plane.stop()


@pytest.mark.parametrize("kind", sorted(BASES))
def test_made_up_objects_are_refused_alike(kind: str, asked: Asked) -> None:
    refused = 0
    for seed in range(_PER_KIND):
        obj = made_up(kind, seed)
        if kind == "StatefulSet" and len(_claim_names(obj)) > 1:
            # The API server checks the volumes of these claims in the random order of a Go map.
            continue
        theirs, ours = asked.said(obj), said(obj, RELEASES[assets_release()])
        refused += bool(theirs.refused)
        if any(_ANY_ORDER in text for text in theirs.refused):
            assert sorted(ours.refused) == sorted(theirs.refused), (seed, obj)
        else:
            assert ours.refused == theirs.refused, (seed, obj)
        assert sorted(ours.warned) == sorted(theirs.warned), (seed, obj)
    assert 0 < refused <= _PER_KIND
