"""The manifests of ``deploy/``: they pass lint, and grant exactly the permissions that the program uses."""

import json
import re
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedctl.objects.kinds import KINDS
from kschedctl.objects.meta import ApiObject
from kschedctl.watch.feed import NOT_WATCHED
from tests.cli.in_process import run
from tests.paths import ROOT

WATCH = ROOT / "deploy" / "watch" / "watch.yaml"
SERVE = ROOT / "deploy" / "serve" / "serve.yaml"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
#: Plurals that are not made by adding an s.
CLASSES = ("priorityclass", "storageclass", "runtimeclass", "deviceclass", "volumeattributesclass")
PLURALS = {"csistoragecapacity": "csistoragecapacities", **{name: f"{name}es" for name in CLASSES}}


def manifests(path: Path = WATCH) -> dict[tuple[str, str], Any]:
    return {(m["kind"], m["metadata"]["name"]): m for m in yaml.safe_load_all(path.read_text())}


def granted(kind: str, path: Path = WATCH) -> set[tuple[str, str, str]]:
    """Return the permissions of a role: group, resource and verb."""
    return {
        (group, resource, verb)
        for rule in manifests(path)[kind, f"kschedctl-{path.stem}"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def reading(left_out: Collection[type[ApiObject]]) -> set[tuple[str, str, str]]:
    """Return the permissions to read all kinds but some, and the objects of Karpenter."""
    read = {
        (group, PLURALS.get(kind.lower(), f"{kind.lower()}s"))
        for (group, kind), type_ in KINDS.items()
        if type_ not in left_out
    } | {("karpenter.sh", "nodepools"), ("karpenter.sh", "nodeclaims")}
    return {(group, resource, verb) for group, resource in read for verb in ("list", "watch")}


def test_every_kind_that_is_watched_may_be_and_nothing_else() -> None:
    assert granted("ClusterRole") == reading(NOT_WATCHED) | {
        *(("events.k8s.io", "events", verb) for verb in ("list", "create", "patch"))
    }
    assert granted("Role") == {("coordination.k8s.io", "leases", verb) for verb in ("get", "update", "create")}
    (named,) = [rule for rule in manifests()["Role", "kschedctl-watch"]["rules"] if "create" not in rule["verbs"]]
    assert named["resourceNames"] == ["kschedctl-watch"]


def test_every_kind_that_is_served_may_be_read_and_nothing_else() -> None:
    assert granted("ClusterRole", SERVE) == reading(())
    assert not [kind for kind, _ in manifests(SERVE) if kind == "Role"]


@pytest.mark.parametrize("path", [WATCH, SERVE], ids=lambda path: path.name)
def test_lint_finds_nothing(path: Path) -> None:
    printed = run("lint", str(path), "-o", "json")
    assert printed.code == 0, printed.out
    assert json.loads(printed.out)["findings"] == []


@pytest.mark.parametrize(("path", "replicas"), [(WATCH, 2), (SERVE, 1)], ids=lambda value: getattr(value, "name", ""))
def test_pods_have_no_rights_that_they_do_not_need(path: Path, replicas: int) -> None:
    deployment = manifests(path)["Deployment", f"kschedctl-{path.stem}"]["spec"]
    assert deployment["replicas"] == replicas
    spec = deployment["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"]
    security = container["securityContext"]
    assert (security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]) == (True, False)
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert f"USER {spec['securityContext']['runAsUser']}:" in DOCKERFILE.read_text()
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"] == {"memory": container["resources"]["requests"]["memory"]}
    ports = {port["name"] for port in container["ports"]}
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        assert container[probe]["httpGet"]["port"] in ports


@pytest.mark.parametrize("path", [WATCH, SERVE], ids=lambda path: path.name)
def test_pods_meet_the_restricted_pod_security_standard(path: Path) -> None:
    """All controls of the level ``restricted``; tests/live/test_deployed.py queries the API server's own check."""
    labels = manifests(path)["Namespace", "kschedctl"]["metadata"]["labels"]
    assert labels == {"pod-security.kubernetes.io/enforce": "restricted"}
    spec = manifests(path)["Deployment", f"kschedctl-{path.stem}"]["spec"]["template"]["spec"]
    assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers", "initContainers"} & spec.keys()
    allowed = {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
    assert all(volume.keys() - {"name"} <= allowed for volume in spec.get("volumes", ()))
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    (container,) = spec["containers"]
    security = container["securityContext"]
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert not {"privileged", "procMount", "seLinuxOptions", "windowsOptions"} & security.keys()
    assert not any("hostPort" in port for port in container["ports"])


@pytest.mark.parametrize("path", [WATCH, SERVE], ids=lambda path: path.name)
def test_a_kustomization_holds_each_manifest(path: Path) -> None:
    kustomization = yaml.safe_load((path.parent / "kustomization.yaml").read_text())
    assert kustomization["resources"] == [path.name]
    others = {each.name for each in path.parent.iterdir()} - {path.name, "kustomization.yaml"}
    assert not others


@pytest.mark.parametrize("path", [WATCH, SERVE], ids=lambda path: path.name)
def test_an_overlay_sets_the_image(path: Path, tmp_path: Path) -> None:
    if not (shutil.which("kustomize") or shutil.which("kubectl")):
        pytest.skip("neither kustomize nor kubectl is installed")
    shutil.copytree(path.parent, tmp_path / "base")
    (tmp_path / "mine").mkdir()
    page = (ROOT / "docs" / f"{path.stem}.md").read_text()
    (overlay,) = re.findall(r"^```yaml\n(apiVersion: kustomize.*?)^```$", page, re.MULTILINE | re.DOTALL)
    own = yaml.safe_load(overlay)
    own["resources"] = ["../base"]
    (tmp_path / "mine" / "kustomization.yaml").write_text(yaml.safe_dump(own))
    tool = ["kustomize", "build"] if shutil.which("kustomize") else ["kubectl", "kustomize"]
    built = subprocess.run([*tool, str(tmp_path / "mine")], check=True, capture_output=True, text=True).stdout
    rendered = {(m["kind"], m["metadata"]["name"]): m for m in yaml.safe_load_all(built)}
    assert rendered.keys() == manifests(path).keys()
    template = rendered["Deployment", f"kschedctl-{path.stem}"]["spec"]["template"]
    (image,) = own["images"]
    assert template["spec"]["containers"][0]["image"] == f"{image['newName']}:{image['newTag']}"
    printed = run("lint", str(tmp_path), "--render", "-o", "json")
    assert (printed.code, json.loads(printed.out)["findings"]) == (0, []), printed.out + printed.err


def test_arguments_of_the_server_are_options_of_the_command() -> None:
    (container,) = manifests(SERVE)["Deployment", "kschedctl-serve"]["spec"]["template"]["spec"]["containers"]
    command, *options = container["args"]
    offered = run(command, "--help").out
    for option in options:
        assert re.search(rf"{option.partition('=')[0]}\b", offered), option
    service = manifests(SERVE)["Service", "kschedctl-serve"]
    own = service["metadata"]
    assert f"--allowed-host={own['name']}.{own['namespace']}.svc" in options


def test_arguments_of_the_container_are_options_of_the_command() -> None:
    (container,) = manifests()["Deployment", "kschedctl-watch"]["spec"]["template"]["spec"]["containers"]
    command, *options = container["args"]
    offered = run(command, "--help").out
    for option in options:
        flag = option.partition("=")[0]
        assert re.search(rf"{flag}\b", offered), flag
    namespace, _, name = dict(one.split("=") for one in options if "=" in one)["--lease"].partition("/")
    role = manifests()["Role", "kschedctl-watch"]
    assert (role["metadata"]["namespace"], role["rules"][0]["resourceNames"]) == (namespace, [name])


def test_image_is_made_of_what_is_there() -> None:
    text = DOCKERFILE.read_text()
    copied = [word for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE) for word in line.split()[:-1]]
    assert copied
    assert all((ROOT / word).exists() for word in copied)
    ignored = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    assert set(copied) == {line[1:] for line in ignored if line.startswith("!")}
    assert "kschedctl[" not in text
    assert "'.[devices,live,watch,web]'" in text
