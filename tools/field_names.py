"""Write the names of all fields of the Kubernetes API, as an API server publishes them, into the package.

    KUBEBUILDER_ASSETS=$(tests/live/build_control_plane.sh) python -m tools.field_names

``kschedctl.api.schema`` checks manifests against two sources: the OpenAPI document of a real API server that serves all
versions of all groups, and the Go types of the built-in kinds (``go_types``, which needs Go). An API server's message
about a value that does not fit names the Go type. For a new release, raise the version in ``build_control_plane.sh``
and ``go_types/go.mod`` and run this command; the file has one type per line, so that its diff shows the new fields.

The API server serves no kind whose feature gate is off, and none of the versions that other supported releases serve.
The documents of ``MORE_VERSIONS`` are read from the source of Kubernetes of their release.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kschedctl.api.schema.fields import FILE, LEAF, LIST, MAP
from tests.live.control_plane import ControlPlane, missing_assets

ROOT: Final = Path(__file__).parents[1]
#: The prefix of Go type names; removed, as ``_PREFIXES`` of OpenAPI names are, so that the two match.
_PACKAGES: Final = re.compile(r"^k8s\.io\.(api|apimachinery\.pkg\.apis)\.")
_REFERENCE: Final = "#/components/schemas/"
_PREFIXES: Final = re.compile(
    r"^io\.k8s\.(api|apimachinery\.pkg\.apis|kube-aggregator\.pkg\.apis|apiextensions-apiserver\.pkg\.apis)\."
)
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
#: The versions of API groups, by release, whose kinds are added to those of the API server.
MORE_VERSIONS: Final = {
    "1.36.3": ("scheduling.k8s.io/v1alpha2",),
    "1.37.0": ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"),
}


def main() -> None:
    missing = missing_assets()
    if missing:
        sys.exit(f"no API server to ask: {missing}")
    with tempfile.TemporaryDirectory() as folder:
        plane = ControlPlane(Path(folder))
        try:
            plane.start("--runtime-config=api/all=true")
            release = json.loads(plane.kubectl("get", "--raw", "/version"))["gitVersion"]
            documents = [document for path, document in _documents(plane) if path.count("/") > 0]
        finally:
            plane.stop()
    schemas: dict[str, Any] = {}
    go_types: dict[str, Any] = {}
    # Types that several documents have are those of the API server.
    for document in (*more_documents(), *documents):
        schemas |= document["components"]["schemas"]
    for version in (*MORE_VERSIONS, release.removeprefix("v")):
        go_types |= _go_types(version)
    text = field_names(release, schemas, go_types)
    (ROOT / "kschedctl/api/schema" / FILE).write_text(text)
    print(f"{FILE}: {len(text):,} bytes, Kubernetes {release}")


def _documents(plane: ControlPlane) -> list[tuple[str, dict[str, Any]]]:
    paths = json.loads(plane.kubectl("get", "--raw", "/openapi/v3"))["paths"]
    groups = [path for path in paths if path == "api/v1" or (path.startswith("apis/") and path.count("/") == 2)]
    return [(path, json.loads(plane.kubectl("get", "--raw", f"/openapi/v3/{path}"))) for path in sorted(groups)]


def more_documents() -> Iterator[dict[str, Any]]:
    """Yield the OpenAPI documents of ``MORE_VERSIONS``."""
    for release, versions in MORE_VERSIONS.items():
        module = _go("mod", "download", "-json", f"k8s.io/kubernetes@v{release}")
        folder = Path(json.loads(module)["Dir"]) / "api/openapi-spec/v3"
        for version in versions:
            yield json.loads((folder / f"apis__{version.replace('/', '__')}_openapi.json").read_text())


def _go_types(release: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return the Go type that each field of each type is decoded as, and its type name if it has one."""
    with tempfile.TemporaryDirectory() as folder:
        for source in (ROOT / "tools/go_types").iterdir():
            shutil.copy(source, folder)
        _go("get", f"k8s.io/client-go@v0.{release.partition('.')[2]}", folder=folder)
        types = json.loads(_go("run", ".", folder=folder))
    return {_PACKAGES.sub("", name): fields for name, fields in types.items()}


def _go(*arguments: str, folder: str | None = None) -> str:
    """Run a command of Go, and return its output."""
    return subprocess.run(["go", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def field_names(release: str, schemas: Mapping[str, Any], go_types: Mapping[str, Any]) -> str:
    """Return the text of the file: the kinds and types of OpenAPI schemas, with the Go types of the fields."""
    kinds: dict[str, str] = {}
    for name, schema in schemas.items():
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            version = f"{gvk['group']}/{gvk['version']}" if gvk["group"] else gvk["version"]
            # Lists and options of requests are not objects: they have no ObjectMeta.
            if _type(schema["properties"].get("metadata", {})) == ("", _OBJECT_META):
                kinds[f"{version}/{gvk['kind']}"] = name
    types: dict[str, dict[str, str]] = {}
    waiting = list(kinds.values())
    while waiting:
        name = waiting.pop()
        # A schema without properties is of a type without fields, or of one that allows any value.
        has_fields = "properties" in schemas[name] or go_types.get(_short(name)) == {}
        if _short(name) not in types and has_fields:
            fields = {key: _type(value) for key, value in sorted(schemas[name].get("properties", {}).items())}
            types[_short(name)] = {key: _marked(mark, _short(of)) for key, (mark, of) in fields.items()}
            waiting += [of for _, of in fields.values() if of]
    types = {
        name: {
            # Types without fields (quantities, times) are described by the Go type that decodes them.
            key: of if of.lstrip(LIST + MAP) in types else _leaf(of, go_types.get(name, {}).get(key))
            for key, of in fields.items()
        }
        for name, fields in sorted(types.items())
    }
    return "".join(
        (
            f'{{"release": {json.dumps(release)},\n"kinds": {{\n',
            _lines({kind: _short(name) for kind, name in sorted(kinds.items())}),
            '\n},\n"types": {\n',
            _lines(types),
            "\n}}\n",
        )
    )


def _leaf(of: str, go: Mapping[str, str] | None) -> str:
    """Return a field's nesting (lists, maps), its Go type and the type's name; empty if Go has no leaf type for it."""
    if go is None or "leaf" not in go:
        return ""
    marks = of[: len(of) - len(of.lstrip(LIST + MAP))]
    return f"{marks}{LEAF}{go['leaf']}{' ' if 'name' in go else ''}{go.get('name', '')}"


def _lines(values: Mapping[str, Any]) -> str:
    return ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in values.items())


def _type(schema: Mapping[str, Any], mark: str = "") -> tuple[str, str]:
    """Return a field's nesting (lists, maps) and the name of its type; the name is empty for a type without fields."""
    if "items" in schema:
        return _type(schema["items"], mark + LIST)
    if isinstance(schema.get("additionalProperties"), dict):
        return _type(schema["additionalProperties"], mark + MAP)
    references = [each["$ref"] for each in (schema, *schema.get("allOf", ())) if "$ref" in each]
    return mark, references[0].removeprefix(_REFERENCE) if references else ""


def _marked(mark: str, name: str) -> str:
    return mark + name


def _short(name: str) -> str:
    return _PREFIXES.sub("", name)


if __name__ == "__main__":
    main()
