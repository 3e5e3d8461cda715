"""Warnings about files of volumes whose paths are equal, or one below the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kschedctl.objects.field_errors import go_quote
from kschedctl.objects.validation.context import Tree


def overlapping_paths(volumes: Iterable[Tree]) -> Iterator[str]:
    """Yield a warning per pair of overlapping file paths of a volume, and per projected source that is empty.

    Yields
    ------
    str
        The API server's message. It contains the volume's name, and comes without a field path.
    """
    for volume in volumes:
        name = go_quote(volume.get("name", ""))
        for field in ("configMap", "secret", "downwardAPI"):
            source = volume.get(field, {})
            for two in _overlaps((path, "") for path in _items(source)):
                shown = _named(field, source.get("secretName" if field == "secret" else "name", ""))
                yield f"volume {name} ({shown}): overlapping paths: {two}"
        if "projected" in volume:
            yield from _projected(volume["projected"], name)


def _projected(projected: Tree, name: str) -> Iterator[str]:
    paths: list[tuple[str, str]] = []
    for source in projected.get("sources", ()):
        if not source:
            yield f"volume {name} (Projected) has no sources provided"
            continue
        own = list(_of_source(source))
        for two in _overlaps(own, paths):
            yield f"volume {name} (Projected): overlapping paths: {two}"


def _of_source(source: Tree) -> Iterator[tuple[str, str]]:
    """Yield the paths of a source of a projected volume, each with a description of the source."""
    for field in ("configMap", "secret", "downwardAPI"):
        if source.get(field, {}).get("items") is not None:
            shown = _named(field, source[field].get("name", ""))
            yield from ((path, shown) for path in _items(source[field]))
            return
    if "serviceAccountToken" in source:
        yield source["serviceAccountToken"].get("path", ""), "ServiceAccountToken"
    elif "clusterTrustBundle" in source:
        bundle = source["clusterTrustBundle"]
        yield bundle.get("path", ""), f"ClusterTrustBundle {go_quote(bundle.get('name', bundle.get('signerName', '')))}"
    elif "podCertificate" in source:
        for field, what in (
            ("certificateChainPath", "chain"),
            ("keyPath", "key"),
            ("credentialBundlePath", "credential bundle"),
        ):
            if path := source["podCertificate"].get(field):
                yield path, f"PodCertificate {what}"


def _named(field: str, name: str) -> str:
    if field == "downwardAPI":
        return "DownwardAPI"
    return f"{'ConfigMap' if field == 'configMap' else 'Secret'} {go_quote(name)}"


def _items(holder: Tree) -> list[str]:
    return [item.get("path", "") for item in holder.get("items", ())]


def _overlaps(paths: Iterable[tuple[str, str]], seen: list[tuple[str, str]] | None = None) -> Iterator[str]:
    """Yield a description of each pair of overlapping paths, and append the paths to `seen`."""
    seen = [] if seen is None else seen
    for written, source in paths:
        path = written.rstrip("/")
        for other, whose in seen if path else ():
            if other and (f"{other}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other}/")):
                yield f"{_shown(path, source)} with {_shown(other, whose)}"
        seen.append((path, source))


def _shown(path: str, source: str) -> str:
    return f"{go_quote(path)} ({source})" if source else go_quote(path)
