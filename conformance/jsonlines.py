"""Files of cases and answers: one JSON object per line, gzip-compressed if the name ends in ``.gz``."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

#: A case or an answer as a JSON object.
Object = dict[str, Any]


def read(path: Path) -> Iterator[Object]:
    """Yield the objects of a file in their order."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    yield from (json.loads(line) for line in text.splitlines() if line.strip())


def write(path: Path, objects: Iterable[Object]) -> int:
    """Write objects to a file and return the number of lines; equal objects give equal bytes."""
    lines = [line(found) for found in objects]
    text = "".join(lines).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return len(lines)


def line(found: Object) -> str:
    """Return an object as one line of JSON."""
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False) + "\n"
