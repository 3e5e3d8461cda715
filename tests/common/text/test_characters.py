import json
import sys
import unicodedata

import pytest

from kschedctl.common.errors import InputError
from kschedctl.common.text.characters import is_invisible, json_text, printable, utf8_text


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("node-1", "node-1"),
        ("\x1b]52;c;eA==\x07", r"\x1b]52;c;eA==\x07"),
        ("a\r\n\tb", r"a\r\n\tb"),
        ("\x9b2J\x85", r"\x9b2J\x85"),
        ("\u202egpj.\u2066", r"\u202egpj.\u2066"),
        ("\u200b\u200e\u061c\ufeff\xad", r"\u200b\u200e\u061c\ufeff\xad"),
        ("\u3164\ufe0f\U000e0041", r"\u3164\ufe0f\U000e0041"),
        ("\xa0\u2028\u3000", r"\xa0\u2028\u3000"),
        ("\udcff", r"\udcff"),
        ("é 日本 \N{MIDDLE DOT} 🙂", "é 日本 \N{MIDDLE DOT} 🙂"),
        (r"a\x1b", r"a\x1b"),
    ],
    ids=ascii,
)
def test_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


def test_every_control_format_and_separator_is_unseen() -> None:
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert is_invisible(character)
            assert printable(character) != character


def test_json_keeps_its_meaning() -> None:
    data = {"a\u202e": ["\x7f\x9b\U000e0041", "é日\n"]}
    text = json_text(json.dumps(data, ensure_ascii=False).encode())
    assert json.loads(text) == data
    assert text == r'{"a\u202e": ["\u007f\u009b\udb40\udc41", "é日\n"]}'
