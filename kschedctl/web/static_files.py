"""The files of pages: styles and scripts, which are read once when the server starts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from litestar import Response, Router, get
from litestar.params import FromPath

import kschedctl.output.page
from kschedctl.web.errors import NotFoundError

#: The folders with the files; of two files with one name, that of the later folder is served.
_FOLDERS: Final = (Path(kschedctl.output.page.__file__).parent, Path(__file__).with_name("static"))
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}


@cache
def static_files() -> Mapping[str, tuple[bytes, str]]:
    """Return content and media type of each file by its name."""
    paths = (path for folder in _FOLDERS for path in sorted(folder.iterdir()))
    return {path.name: (path.read_bytes(), _TYPES[path.suffix]) for path in paths if path.suffix in _TYPES}


@get("/{name:str}")
async def serve_file(name: FromPath[str]) -> Response[bytes]:
    """Return a file."""
    found = static_files().get(name)
    if found is None:
        raise NotFoundError("there is no such file")
    return Response(found[0], media_type=found[1])


STATIC: Final = Router("/static", route_handlers=[serve_file])
