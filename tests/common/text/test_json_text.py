import time

import msgspec
import pytest

from kschedctl.common.text.json_text import NotJsonError, json_documents


class Named(msgspec.Struct):
    kind: str = ""


def kinds(text: bytes) -> list[tuple[int, str, str | None]]:
    decoder = msgspec.json.Decoder(Named)
    return [
        (number, bytes(document).decode(), None if value is None else value.kind)
        for number, document, value in json_documents(text, decoder)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b'{"kind":"A"}', [(1, '{"kind":"A"}', "A")], id="one"),
        pytest.param(b' \n{\n"kind":"A"}\n \n', [(1, '{\n"kind":"A"}\n \n', "A")], id="one-with-blanks"),
        pytest.param(b'{"kind":"A"}\n{"kind":"B"}', [(1, '{"kind":"A"}', "A"), (2, '{"kind":"B"}', "B")], id="lines"),
        pytest.param(
            b'{"kind":"A"}\r\n\r\n{"kind":"B"}\r\n',
            [(1, '{"kind":"A"}\r', "A"), (2, '{"kind":"B"}\r', "B")],
            id="lines-as-windows-writes-them",
        ),
        pytest.param(b'{"kind":"A"}{"kind":"B"}', [(1, '{"kind":"A"}', "A"), (2, '{"kind":"B"}', "B")], id="no-blank"),
        pytest.param(
            b'{\n"kind":{}\n}\n{\n"kind":"B"\n}',
            [(1, '{\n"kind":{}\n}\n', None), (2, '{\n"kind":"B"\n}', "B")],
            id="stream-with-one-of-another-type",
        ),
        pytest.param(b'[1]\n{"kind":"B"}', [(1, "[1]\n", None), (2, '{"kind":"B"}', "B")], id="list-then-object"),
        pytest.param(b'{"a":{}\n,"kind":"B"}', [(1, '{"a":{}\n,"kind":"B"}', "B")], id="line-ends-in-a-brace"),
        pytest.param(b"", [], id="nothing"),
        pytest.param(b" \n ", [], id="blanks"),
    ],
)
def test_documents_are_found(text: bytes, expected: list[tuple[int, str, str | None]]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            b'{\n "kind": nul}',
            "f.json, document 1: line 2, column 11: is not valid JSON: invalid character",
            id="bad-word",
        ),
        pytest.param(
            b'{"kind":"A"}\n{"kind" "B"}',
            "f.json, document 2: line 2, column 9: is not valid JSON: expected ':'",
            id="second-line",
        ),
        pytest.param(
            b'{"kind":"A"',
            "f.json, document 1: line 1, column 12: is not valid JSON: the text ends too early",
            id="truncated",
        ),
        pytest.param(
            b'{"kind":"A"} x',
            "f.json, document 2: line 1, column 14: is not valid JSON: invalid character",
            id="something-after-it",
        ),
        pytest.param(
            b"[" * 1_000_000, "f.json, document 1: line 1, column 1: is not valid JSON: is nested too deeply", id="deep"
        ),
    ],
)
def test_broken_json_has_line_and_column(text: bytes, message: str) -> None:
    with pytest.raises(NotJsonError) as raised:
        kinds(text)
    assert str(raised.value.error(text, "f.json")) == message


@pytest.mark.parametrize("between", [b"", b" ", b"\n", b"\n\n"])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_many_documents_take_a_time_that_grows_with_the_text(between: bytes, end: bytes) -> None:
    # 4 MB: looking for the end of the line anew for each document would read hundreds of gigabytes.
    n_documents = 100_000
    text = between.join([b'{"kind":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}'] * n_documents) + end
    before = time.process_time()
    assert sum(1 for _ in json_documents(text, msgspec.json.Decoder(Named))) == n_documents
    assert time.process_time() - before < 30
