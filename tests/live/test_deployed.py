"""The manifests of ``deploy/`` against a real API server, which enforces the Pod Security Standard."""

import json
from pathlib import Path

import pytest
import yaml

from tests.live.control_plane import ControlPlane
from tests.paths import ROOT

pytestmark = pytest.mark.live
DEPLOY = ROOT / "deploy"


@pytest.mark.parametrize("name", ["watch", "serve"])
def test_a_real_api_server_admits_the_pods(control_plane: ControlPlane, name: str, tmp_path: Path) -> None:
    control_plane.kubectl("apply", "-k", str(DEPLOY / name))
    manifests = list(yaml.safe_load_all((DEPLOY / name / f"{name}.yaml").read_text()))
    (deployment,) = [manifest for manifest in manifests if manifest["kind"] == "Deployment"]
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]}
    pod["metadata"] = {"name": name, "namespace": "kschedctl"}
    control_plane.kubectl("create", "--dry-run=server", "-f", "-", given=pod)
    # The namespace does reject: the same pod with one right more.
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    refused = tmp_path / "pod.json"
    refused.write_text(json.dumps(pod))
    control_plane.kubectl_fails("create", "--dry-run=server", "-f", str(refused))
