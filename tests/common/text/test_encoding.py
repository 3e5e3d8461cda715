from __future__ import annotations

import pytest

from kschedctl.common.errors import InputError
from kschedctl.common.text.encoding import utf8_text


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("kind: Pöd".encode(), id="utf-8"),
        pytest.param("kind: Pöd".encode("utf-8-sig"), id="utf-8-with-mark"),
        pytest.param("kind: Pöd".encode("utf-16"), id="utf-16"),
        pytest.param(b"\xfe\xff" + "kind: Pöd".encode("utf-16-be"), id="utf-16-big-endian"),
    ],
)
def test_text_is_read_as_utf8(content: bytes) -> None:
    assert utf8_text(content, "f").decode() == "kind: Pöd"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            b"\x7fELF\x00\x01", "f: is a binary file, not YAML or JSON\n  UTF-8 text is expected", id="binary"
        ),
        pytest.param(b"\xff\xfea", "f: is not valid UTF-16\n  save it as UTF-8", id="half-of-utf-16"),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as raised:
        utf8_text(content, "f")
    assert str(raised.value) == message
