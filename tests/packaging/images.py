"""The container image of this checkout, for tests."""

from functools import cache
from importlib.metadata import version
from typing import Final, NamedTuple

import pytest

from tools.container import DEBIAN, Builder, CannotBuildError, build_image, builder

VERSION: Final = version("kschedctl")


class Image(NamedTuple):
    """An image, and the program that runs it."""

    builder: Builder
    tag: str


@cache
def image() -> Image:
    """Build the image once: from its base image, or where no registry can be reached, from Debian's packages.

    The test is skipped if neither is possible.
    """
    tag = "localhost/kschedctl:tested"
    reasons = []
    try:
        found = builder()
    except CannotBuildError as reason:
        pytest.skip(f"no image can be built: {reason}")
    for base in ("", DEBIAN):
        try:
            build_image(found, tag, VERSION, base)
        except CannotBuildError as reason:
            reasons.append(str(reason))
        else:
            return Image(found, tag)
    pytest.skip(f"no base image is available: {' '.join(reasons)[-400:]}")
