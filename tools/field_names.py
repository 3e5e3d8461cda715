"""Write the names of all fields of the Kubernetes API, as Kubernetes' own source publishes them, into the package.

    python -m tools.field_names

``kschedctl.objects.schema`` checks manifests against two sources: the OpenAPI documents that the source of Kubernetes
contains for all versions of all groups, and the Go types of the built-in kinds (``go_types``). An API server's message
about a value that does not fit names the Go type. Both need Go, which downloads them.

A kind or a field is known if one of the modelled releases knows it, from ``FIRST`` on. The file also lists what each
release adds and the kinds that it no longer serves, and has one type per line, so that its diff shows the new fields.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from conformance.builds import versions
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.schema.schema import FILE, LEAF, LIST, MAP

ROOT: Final = Path(__file__).parents[1]
#: The prefix of Go type names; removed, as ``_PREFIXES`` of OpenAPI names are, so that the two match.
_PACKAGES: Final = re.compile(r"^k8s\.io\.(api|apimachinery\.pkg\.apis)\.")
_REFERENCE: Final = "#/components/schemas/"
_PREFIXES: Final = re.compile(
    r"^io\.k8s\.(api|apimachinery\.pkg\.apis|kube-aggregator\.pkg\.apis|apiextensions-apiserver\.pkg\.apis)\."
)
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
#: The oldest release whose API is read. Kinds that it no longer serves are in ``api_gone`` alone.
FIRST: Final = "1.36"
#: Versions of modules that releases need and that are not published, each with the one to use in its place.
_UNPUBLISHED: Final = {"sigs.k8s.io/structured-merge-diff/v7@v7.0.1": "sigs.k8s.io/structured-merge-diff/v7@v7.0.0"}


def read_versions() -> list[str]:
    """Return the versions of Kubernetes whose API is read, oldest first."""
    modelled = [*RELEASES]
    return [versions()[release] for release in modelled[modelled.index(FIRST) :]]


def main() -> None:
    schemas = {version: _schemas(version) for version in read_versions()}
    text = field_names(schemas, {version: _go_types(version) for version in schemas})
    (ROOT / "kschedctl/objects/schema" / FILE).write_text(text)
    print(f"{FILE}: {len(text):,} bytes, Kubernetes {', '.join(schemas)}")


def _schemas(version: str) -> dict[str, Any]:
    """Return the schemas of all versions of all API groups."""
    module = _go("mod", "download", "-json", f"k8s.io/kubernetes@v{version}")
    folder = Path(json.loads(module)["Dir"]) / "api/openapi-spec/v3"
    documents = (json.loads(path.read_text()) for path in sorted(folder.glob("api*__*_openapi.json")))
    return {name: schema for document in documents for name, schema in document["components"]["schemas"].items()}


def _go_types(version: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return the Go type that each field of each type is decoded as, and its type name if it has one."""
    with tempfile.TemporaryDirectory() as folder:
        for source in (ROOT / "tools/go_types").iterdir():
            shutil.copy(source, folder)
        for old, new in _UNPUBLISHED.items():
            _go("mod", "edit", f"-replace={old}={new}", folder=folder)
        _go("get", f"k8s.io/client-go@v0.{version.partition('.')[2]}", folder=folder)
        types = json.loads(_go("run", "-mod=mod", ".", folder=folder))
    return {_PACKAGES.sub("", name): fields for name, fields in types.items()}


def _go(*arguments: str, folder: str | None = None) -> str:
    """Run a command of Go, in the version that the module needs, and return its output."""
    env = os.environ | {"GOTOOLCHAIN": "auto"}
    return subprocess.run(["go", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


def _kinds(schemas: Mapping[str, Any]) -> dict[str, str]:
    """Return the name of the schema of each kind of objects, such as ``apps/v1/Deployment``."""
    kinds: dict[str, str] = {}
    for name, schema in schemas.items():
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            version = f"{gvk['group']}/{gvk['version']}" if gvk["group"] else gvk["version"]
            # Lists and options of requests are not objects: they have no ObjectMeta.
            if _type(schema["properties"].get("metadata", {})) == ("", _OBJECT_META):
                kinds[f"{version}/{gvk['kind']}"] = name
    return kinds


def _merged(releases: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the entries of all releases, oldest first; a newer release's entry replaces an older one's."""
    return {name: entry for release in releases for name, entry in release.items()}


def _all_schemas(releases: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schemas of all releases, each with the fields that it has in any of them."""
    found: dict[str, Any] = {}
    for schemas in releases:
        for name, schema in schemas.items():
            older = found.get(name, {}).get("properties", {})
            found[name] = {**schema, "properties": older | schema["properties"]} if "properties" in schema else schema
    return found


def _added(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the kinds that a release adds, and the fields that it adds to types, as ``core.v1.PodSpec.hostUsers``."""
    yield from sorted({*_kinds(after)} - {*_kinds(before)})
    for name in sorted({*before} & {*after}):
        fields = {*after[name].get("properties", ())} - {*before[name].get("properties", ())}
        yield from (f"{_short(name)}.{field}" for field in sorted(fields))


def field_names(by_release: Mapping[str, Mapping[str, Any]], go_by_release: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of the file: the kinds and types of OpenAPI schemas, with the Go types of the fields.

    Both mappings are by the version of Kubernetes, oldest first.
    """
    schemas = _all_schemas(by_release.values())
    go_types = {
        name: _merged(types.get(name, {}) for types in go_by_release.values())
        for name in _merged(go_by_release.values())
    }
    kinds = _kinds(schemas)
    steps = [(new, by_release[old], by_release[new]) for old, new in pairwise(by_release)]
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
            f'{{"releases": {json.dumps([*by_release])},\n"added": {{\n',
            _lines({new: [*_added(before, after)] for new, before, after in steps}),
            '\n},\n"removed": {\n',
            _lines({new: sorted({*_kinds(before)} - {*_kinds(after)}) for new, before, after in steps}),
            '\n},\n"kinds": {\n',
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
