"""Requests to an extender and the use of its responses; messages are those of kube-scheduler 1.36."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import ConfigError
from kschedctl.objects.core import Node
from kschedctl.objects.duration import Duration
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.extenders.http_extender import HTTPExtender
from kschedctl.scheduler.extenders.responses import SentBackNode, first_value
from kschedctl.scheduler.extenders.transport import Response
from kschedctl.scheduler.framework.config.types import ExtenderConfig, ExtenderTLSConfig
from kschedctl.scheduler.framework.extender import ExtenderError, ExtenderFilterResult, MetaVictims, Victims
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from tests.builders import make_node, make_pod
from tests.scheduler.extenders.server import Answer, ExtenderServer, make_certificate, server_tls

POD = make_pod("web")
NODES = [make_node("a"), make_node("b")]
VERBS = {"filter_verb": "filter", "prioritize_verb": "rate", "preempt_verb": "preempt", "bind_verb": "bind"}


def make_extender(url: str, written: OriginalObjects | None = None, **config: Any) -> HTTPExtender:
    return HTTPExtender(ExtenderConfig(url_prefix=url, **{**VERBS, "weight": 1, **config}), written)


Call = Callable[[HTTPExtender], object]


def filtering(extender: HTTPExtender) -> ExtenderFilterResult:
    return extender.filter(POD, NODES)


def rating(extender: HTTPExtender) -> object:
    return extender.prioritize(POD, NODES)


def preempting(extender: HTTPExtender) -> object:
    return extender.process_preemption(POD, {"a": Victims((make_pod("old", node="a"),), 1)})


def binding(extender: HTTPExtender) -> None:
    extender.bind(POD, "a")


def asked(call: Call, answer: Answer, **config: Any) -> Any:
    """Return the body of the request to an extender."""
    with ExtenderServer(dict.fromkeys(("filter", "rate", "preempt", "bind"), answer)) as server:
        call(make_extender(server.url, **config))
    (request,) = server.asked
    assert (request.method, request.content_type) == ("POST", "application/json")
    return request.about


def test_nodes_are_sent_whole() -> None:
    about = asked(filtering, {})
    assert list(about) == ["Pod", "Nodes", "NodeNames"]
    assert about["NodeNames"] is None
    assert about["Pod"]["metadata"]["name"] == "web"
    assert [msgspec.convert(node, Node) for node in about["Nodes"]["items"]] == NODES


@pytest.mark.parametrize("call", [filtering, rating])
def test_who_keeps_nodes_is_sent_names(call: Call) -> None:
    about = asked(call, {} if call is filtering else [], node_cache_capable=True)
    assert (about["Nodes"], about["NodeNames"]) == (None, ["a", "b"])


def test_victims_are_sent_whole_or_by_uid() -> None:
    about = asked(preempting, {})
    (victim,) = about["NodeNameToVictims"]["a"]["Pods"]
    assert (victim["metadata"]["name"], victim["spec"]["nodeName"]) == ("old", "a")
    assert about["NodeNameToVictims"]["a"]["NumPDBViolations"] == 1
    assert about["NodeNameToMetaVictims"] is None
    about = asked(preempting, {}, node_cache_capable=True)
    assert about["NodeNameToVictims"] is None
    assert about["NodeNameToMetaVictims"] == {"a": {"Pods": [{"UID": "uid-default-old"}], "NumPDBViolations": 1}}


def test_a_binding_names_pod_and_node() -> None:
    wanted = {"PodName": "web", "PodNamespace": "default", "PodUID": "uid-default-web", "Node": "a"}
    assert asked(binding, {}) == wanted


def test_what_was_written_is_sent_with_what_it_is_now() -> None:
    written = OriginalObjects()
    text = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "managedFields": [{}], "finalizers": ["keep"]},
        "spec": {
            "dnsPolicy": "None",
            "priority": 7,
            "containers": [{"name": "c", "image": "old", "env": [{"name": "A"}]}],
        },
    }
    written.keep(POD, json.dumps(text).encode())
    with ExtenderServer({"filter": {}}) as server:
        make_extender(server.url, written).filter(POD, NODES)
    sent = server.asked[0].about["Pod"]
    assert "kind" not in sent
    assert sent["metadata"] == {"name": "web", "namespace": "default", "uid": "uid-default-web", "finalizers": ["keep"]}
    assert sent["spec"]["dnsPolicy"] == "None"
    assert sent["spec"]["priority"] == 0
    (container,) = sent["spec"]["containers"]
    assert (container["image"], container["env"]) == ("registry.example/app:1", [{"name": "A"}])


def outcome(call: Call, answer: Answer, **config: Any) -> object:
    with ExtenderServer(dict.fromkeys(("filter", "rate", "preempt", "bind"), answer)) as server:
        return call(make_extender(server.url, **config))


NONE = ExtenderFilterResult(())
A = ExtenderFilterResult(("a",))
SENT_BACK = ExtenderFilterResult(
    ("a",), {"a": SentBackNode(metadata=ObjectMeta(name="a"), text=b'{"metadata":{"name":"a"}}')}
)
FILTERED: dict[str, tuple[Answer, bool, ExtenderFilterResult]] = {
    "names": ({"NodeNames": ["a"]}, True, A),
    "names, whatever their case": ({"nodenames": ["a"]}, True, A),
    "of two cases the last": ({"nodeNames": ["b"], "NODENAMES": ["a"]}, True, A),
    "only the first value counts": (b' {"NodeNames": ["a"]} {"Error": "no"}', True, A),
    "nothing": ({}, True, NONE),
    "null": (b"null", True, NONE),
    "names for one who does not keep nodes": ({"NodeNames": ["a"]}, False, NONE),
    "nodes": ({"nodes": {"items": [{"metadata": {"name": "a"}}]}}, False, SENT_BACK),
    "nodes from one who keeps them": (
        {"Nodes": {"items": [{"metadata": {"name": "a"}}]}, "NodeNames": None},
        True,
        SENT_BACK,
    ),
    "reasons": (
        {"NodeNames": ["a"], "failedNodes": {"b": "busy", "c": None}, "FailedAndUnresolvableNodes": {"d": "no"}},
        True,
        ExtenderFilterResult(("a",), {}, {"b": "busy", "c": ""}, {"d": "no"}),
    ),
}


@pytest.mark.parametrize(("answer", "keeps_nodes", "result"), FILTERED.values(), ids=FILTERED)
def test_what_filter_answers(answer: Answer, keeps_nodes: bool, result: ExtenderFilterResult) -> None:
    assert outcome(filtering, answer, node_cache_capable=keeps_nodes) == result


def test_nodes_that_were_sent_back_are_sent_on_as_they_are() -> None:
    odd = {"metadata": {"name": "a", "odd": 1.5}, "spec": {"providerID": "x"}}
    with ExtenderServer({"filter": {"Nodes": {"items": [odd]}}}) as server:
        extender = make_extender(server.url)
        result = extender.filter(POD, NODES)
        extender.filter(POD, [result.objects["a"]])
    assert server.asked[1].about["Nodes"]["items"] == [odd]


def test_what_prioritize_answers() -> None:
    scores = [{"Host": "a", "Score": 3}, {"host": "b", "score": -9223372036854775808}, {"Host": "c"}]
    assert outcome(rating, scores) == (("a", 3), ("b", -(2**63)), ("c", 0))
    assert outcome(rating, b"null") == ()


def test_what_preempt_answers() -> None:
    answer = {"nodeNameToMetaVictims": {"a": {"pods": [{"uid": "1"}, None], "numPDBViolations": 2}, "b": None}}
    assert outcome(preempting, answer) == {"a": MetaVictims(("1",), 2), "b": MetaVictims((), 0)}


FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"
WRONG: dict[str, tuple[Call, Answer, str]] = {
    "its own error": (filtering, {"error": "out of order"}, "out of order"),
    "no answer": (filtering, b"", "EOF"),
    "blanks": (filtering, b" \n", "EOF"),
    "HTML": (filtering, b"<html>", "invalid character '<' looking for beginning of value"),
    "breaks off": (filtering, b'{"NodeNames":["a"]', "unexpected EOF"),
    "breaks off in a text": (filtering, b'{"NodeNames":["a', "unexpected EOF"),
    "a list": (filtering, [], "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"),
    "a number": (filtering, b"1", "json: cannot unmarshal number into Go value of type v1.ExtenderFilterResult"),
    "names that are none": (
        filtering,
        {"NodeNames": "a"},
        FIELD.format("string", "ExtenderFilterResult.NodeNames", "[]string"),
    ),
    "a name that is none": (
        filtering,
        {"NodeNames": [1]},
        FIELD.format("number", "ExtenderFilterResult.NodeNames", "string"),
    ),
    "reasons that are none": (
        filtering,
        {"FailedNodes": ["a"]},
        FIELD.format("array", "ExtenderFilterResult.FailedNodes", "v1.FailedNodesMap"),
    ),
    "nodes that are none": (
        filtering,
        {"Nodes": []},
        FIELD.format("array", "ExtenderFilterResult.Nodes", "v1.NodeList"),
    ),
    "items that are none": (
        filtering,
        {"Nodes": {"items": {}}},
        FIELD.format("object", "NodeList.Nodes.items", "[]v1.Node"),
    ),
    "single quotes": (filtering, b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
    "a bad literal": (filtering, b'{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
    "no literal": (filtering, b"nope", "invalid character 'o' in literal null (expecting 'u')"),
    "no colon": (filtering, b'{"a" 1}', "invalid character '1' after object key"),
    "a comma too many": (filtering, b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
    "a bad escape": (filtering, b'{"Error":"\\x"}', "invalid character 'x' in string escape code"),
    "no hexadecimal escape": (
        filtering,
        b'{"Error":"\\u00q0"}',
        "invalid character 'q' in \\u hexadecimal character escape",
    ),
    "a minus alone": (filtering, b'{"a":-}', "invalid character '}' in numeric literal"),
    "a line break": (filtering, b'{"Error":"a\nb"}', "invalid character '\\n' in string literal"),
    "no comma": (filtering, b'{"a":1 2}', "invalid character '2' after object key:value pair"),
    "no comma in a list": (rating, b"[1 2]", "invalid character '2' after array element"),
    "a zero in front": (filtering, b'{"Error":01}', "invalid character '1' after object key:value pair"),
    "a fraction": (
        rating,
        [{"Host": "a", "Score": 1.5}],
        FIELD.format("number 1.5", "HostPriority.Score", "int64"),
    ),
    "too large a score": (
        rating,
        [{"Host": "a", "Score": 2**63}],
        FIELD.format("number 9223372036854775808", "HostPriority.Score", "int64"),
    ),
    "a score as a power": (
        rating,
        b'[{"host":"a","score":1e1}]',
        FIELD.format("number 1e1", "HostPriority.Score", "int64"),
    ),
    "a score as text": (rating, [{"Score": "1"}], FIELD.format("string", "HostPriority.Score", "int64")),
    "no list of scores": (
        rating,
        {},
        "json: cannot unmarshal object into Go value of type v1.HostPriorityList",
    ),
    "victims that are none": (
        preempting,
        {"NodeNameToMetaVictims": {"a": {"Pods": {}}}},
        FIELD.format("object", "MetaVictims.NodeNameToMetaVictims.Pods", "[]*v1.MetaPod"),
    ),
    "a victim that is none": (
        preempting,
        {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": 1}]}}},
        FIELD.format("number", "MetaPod.NodeNameToMetaVictims.Pods.UID", "string"),
    ),
    "violations that are none": (
        preempting,
        {"NodeNameToMetaVictims": {"a": {"NumPDBViolations": "2"}}},
        FIELD.format("string", "MetaVictims.NodeNameToMetaVictims.NumPDBViolations", "int64"),
    ),
    "no map of victims": (
        preempting,
        {"NodeNameToMetaVictims": []},
        FIELD.format("array", "ExtenderPreemptionResult.NodeNameToMetaVictims", "map[string]*v1.MetaVictims"),
    ),
    "a node without victims": (
        preempting,
        {"NodeNameToMetaVictims": {"a": 1}},
        FIELD.format("number", "ExtenderPreemptionResult.NodeNameToMetaVictims", "v1.MetaVictims"),
    ),
    "a binding that fails": (binding, {"Error": "taken"}, "taken"),
    "a binding's error that is none": (
        binding,
        {"Error": 1},
        FIELD.format("number", "ExtenderBindingResult.Error", "string"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "answer", "problem"), WRONG.values(), ids=WRONG)
def test_what_is_no_answer(call: Call, answer: Answer, problem: str) -> None:
    with pytest.raises(ExtenderError) as raised:
        outcome(call, answer)
    assert str(raised.value) == problem


def test_a_node_that_was_not_asked_about_is_an_error_of_one_who_keeps_nodes() -> None:
    with ExtenderServer({"filter": {"NodeNames": ["a", "z"]}}) as server, pytest.raises(ExtenderError) as raised:
        make_extender(f"{server.url}/", node_cache_capable=True).filter(POD, NODES)
    claim = 'claims a filtered node "z" which is not found in the input node list'
    assert str(raised.value) == f'extender "{server.url}/" {claim}'


@pytest.mark.parametrize("status", [404, 500, 201])
def test_only_200_is_an_answer(status: int) -> None:
    with ExtenderServer({"filter": (status, b"{}")}) as server, pytest.raises(ExtenderError) as raised:
        make_extender(f"{server.url}//").filter(POD, NODES)
    assert str(raised.value) == f"failed filter with extender at URL {server.url}/filter, code {status}"


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_it_is_followed_where_it_sends_us(status: int, method: str) -> None:
    answers: dict[str, Answer] = {"filter": (status, b"/there"), "there": {"NodeNames": ["a"]}}
    with ExtenderServer(answers) as server:
        assert make_extender(server.url, node_cache_capable=True).filter(POD, NODES) == A
    assert server.asked[1].method == method
    assert (server.asked[1].about is None) == (method == "GET")


def test_but_not_for_ever() -> None:
    with ExtenderServer({"filter": (307, b"/filter")}) as server, pytest.raises(ExtenderError) as raised:
        make_extender(server.url).filter(POD, NODES)
    assert str(raised.value) == f'Post "{server.url}/filter": stopped after 10 redirects'
    assert len(server.asked) == 10


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        ("http://[::1/there", 'failed to parse Location header "http://[::1/there": Invalid IPv6 URL'),
        ("http://[zz]/", """failed to parse Location header "http://[zz]/": 'zz' does not appear to be an IPv4"""),
        ("http://a..b/", "dial tcp: lookup a..b: no such host"),
        (f"http://{'a' * 70}/", f"dial tcp: lookup {'a' * 70}: no such host"),
        ("http://é..x/", "dial tcp: lookup é..x: no such host"),
        ("http://a:99999/", "invalid port in address"),
        (f"http://a:{'1' * 5000}/", "invalid port in address"),
        ("gopher://a/", 'unsupported protocol scheme "gopher"'),
    ],
    ids=["open bracket", "no IPv6 address", "empty label", "long label", "not ASCII", "port", "long port", "scheme"],
)
def test_a_redirect_to_no_address_is_an_error(location: str, problem: str) -> None:
    answers: dict[str, Answer] = {"filter": (307, location.encode())}
    with ExtenderServer(answers) as server, pytest.raises(ExtenderError) as raised:
        make_extender(server.url).filter(POD, NODES)
    assert problem in str(raised.value)


LONG = b"9" * 5000
CPU = b'{"nodes": {"items": [{"status": {"allocatable": {"cpu": %b}}}]}}'
UNREADABLE = {
    "quantity": (filtering, CPU % LONG, "its nodes cannot be read: is not valid JSON: Integer value out of range"),
    "flag": (filtering, CPU % b'{"a": %b}' % LONG, "its nodes cannot be read"),
    "nested": (filtering, CPU % (b'{"a":' * 900 + b"1" + b"}" * 900), "its nodes cannot be read: "),
    "nested more": (filtering, CPU % (b'{"a":' * 90_000), "exceeded max depth"),
    "score": (rating, b'[{"Host": "a", "Score": %b}]' % LONG, "cannot unmarshal number 999"),
    "violations": (preempting, b'{"NodeNameToMetaVictims": {"a": {"NumPDBViolations": -%b}}}' % LONG, "number -999"),
}


@pytest.mark.parametrize(("call", "body", "problem"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_value_that_cannot_be_read_is_an_error(call: Call, body: bytes, problem: str) -> None:
    with pytest.raises(ExtenderError) as raised:
        outcome(call, body)
    assert problem in str(raised.value)


def test_a_lone_surrogate_beside_a_number_is_passed_on() -> None:
    answer = b'{"nodes": {"items": [{"metadata": {"name": "a"}, "a": "\\udc00", "b": 5}]}}'
    found = outcome(filtering, answer)
    assert isinstance(found, ExtenderFilterResult)
    assert json.loads(found.objects["a"].text) == {"metadata": {"name": "a"}, "a": "\ufffd", "b": 5}  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [b'"%b"' % LONG, b"1e999", b'"\\udc00"'], ids=["text", "exponent", "surrogate"])
def test_a_value_that_no_decision_reads_is_passed_on(value: bytes) -> None:
    (node,) = outcome(filtering, b'{"nodes": {"items": [{"metadata": {"name": "a"}, "more": %b}]}}' % value).nodes  # type: ignore[attr-defined]
    assert node == "a"


def test_a_redirect_without_an_address_is_no_answer() -> None:
    with ExtenderServer({"filter": (302, b"")}) as server, pytest.raises(ExtenderError, match=r"code 302$"):
        make_extender(server.url).filter(POD, NODES)


def unreachable(url: str, **config: Any) -> str:
    with pytest.raises(ExtenderError) as raised:
        make_extender(url, **config).filter(POD, NODES)
    return str(raised.value)


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        ("http://127.0.0.1:1", "dial tcp 127.0.0.1:1: connect: connection refused"),
        ("http://localhost:1", "dial tcp 127.0.0.1:1: connect: connection refused"),
        ("extender:80", 'unsupported protocol scheme "extender"'),
        ("", 'unsupported protocol scheme ""'),
        ("ftp://127.0.0.1:80", 'unsupported protocol scheme "ftp"'),
        ("http://127.0.0.1:x", "invalid port in address"),
    ],
)
def test_addresses_where_nobody_answers(url: str, cause: str) -> None:
    assert unreachable(url) == f'Post "{url}/filter": {cause}'


@pytest.mark.parametrize("url", [f"http://{'a' * 64}.example", "http://a b:1"], ids=["long name", "blank"])
def test_names_that_nobody_can_have(url: str) -> None:
    assert unreachable(url).startswith(f'Post "{url}/filter": ')


def test_a_name_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    url = "http://extender.invalid"
    assert unreachable(url) == f'Post "{url}/filter": dial tcp: lookup extender.invalid: no such host'


#: Stands for an answer of which the rest never comes.
GOES_ON = b"..."


@pytest.fixture
def raw_server() -> Iterator[Callable[[bytes | None], str]]:
    """Start a server that sends some bytes to each client and disconnects; with ``None`` it never responds."""
    opened: list[socket.socket] = []

    def start(sends: bytes | None) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        opened.append(listening)

        def serve() -> None:
            connection, _ = listening.accept()
            opened.append(connection)
            connection.recv(65536)
            if sends is None:
                return
            connection.sendall(sends.removesuffix(GOES_ON))
            if not sends.endswith(GOES_ON):
                connection.shutdown(socket.SHUT_RDWR)

        Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for each in opened:
        each.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"


@pytest.mark.parametrize(
    ("sends", "problem"),
    [
        pytest.param(b"", 'Post "{}/filter": EOF', id="hangs up"),
        pytest.param(
            b"garbage\r\n\r\n",
            'Post "{}/filter": net/http: HTTP/1.x transport connection broken: malformed HTTP response "garbage"',
            id="speaks no HTTP",
        ),
        pytest.param(HEAD + b"{", "unexpected EOF", id="breaks off"),
    ],
)
def test_servers_that_answer_badly(raw_server: Callable[[bytes], str], sends: bytes, problem: str) -> None:
    url = raw_server(sends)
    assert unreachable(url) == problem.format(url)


def test_an_answer_that_is_whole_before_it_breaks_off_counts(raw_server: Callable[[bytes], str]) -> None:
    url = raw_server(HEAD + b'{"NodeNames": ["a"]}')
    assert make_extender(url, node_cache_capable=True).filter(POD, NODES) == A


SHORT = Duration(1_000_000_000)


@pytest.mark.parametrize(
    ("sends", "problem"),
    [
        pytest.param(
            None,
            'Post "{}/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
            id="says nothing",
        ),
        pytest.param(
            HEAD + b"{" + GOES_ON,
            "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
            id="says no more",
        ),
    ],
)
def test_servers_that_take_too_long(
    raw_server: Callable[[bytes | None], str], sends: bytes | None, problem: str
) -> None:
    url = raw_server(sends)
    begin = time.monotonic()
    assert unreachable(url, http_timeout=SHORT) == problem.format(url)
    assert time.monotonic() - begin < 30


def test_a_proxy_is_used_but_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with ExtenderServer({"http://extender.example:8888/filter": {"NodeNames": ["a"]}, "filter": {}}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        found = make_extender("http://extender.example:8888", node_cache_capable=True).filter(POD, NODES)
        make_extender(proxy.url).filter(POD, NODES)
    assert found == A
    assert proxy.verbs == ["http://extender.example:8888/filter", "filter"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.data(),
)
def test_json_that_is_cut_is_told(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False).encode()
    whole = first_value(Response(200, text))
    assert json.loads(json.dumps(whole, default=str)) == json.loads(text, parse_int=str, parse_float=str)
    if isinstance(value, dict | list):
        cut = data.draw(st.integers(0, len(text) - 1))
        with pytest.raises(ExtenderError, match=r"^(unexpected )?EOF$"):
            first_value(Response(200, text[:cut]))


def test_pods_of_manifests_have_a_uid_to_be_known_by() -> None:
    pod = msgspec.structs.replace(POD, metadata=msgspec.structs.replace(POD.metadata, uid=""))
    with ExtenderServer({"filter": {}}) as server:
        make_extender(server.url).filter(pod, NODES)
    assert msgspec.convert(server.asked[0].about["Pod"], Pod).metadata.uid


class Files(NamedTuple):
    """A server's and a client's certificate and key; each is its own authority."""

    server: Path
    server_key: Path
    client: Path
    client_key: Path
    named: Path
    named_key: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("certificates")
    named = make_certificate(folder, "named", subject="DNS:extender.example")
    return Files(*make_certificate(folder, "server"), *make_certificate(folder, "client"), *named)


def ask(url: str, tls: ExtenderTLSConfig | None, **config: Any) -> str:
    """The one node that an extender leaves, or why it cannot be asked."""
    own = ExtenderConfig(url_prefix=url, filter_verb="filter", node_cache_capable=True, tls_config=tls, **config)
    try:
        return HTTPExtender(own).filter(make_pod(), [make_node("a")]).nodes[0]
    except ExtenderError as error:
        return str(error).partition('/filter": ')[2]


UNKNOWN = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
WANTED = "remote error: tls: certificate required"


@pytest.mark.parametrize(
    ("tls", "enable_https", "said"),
    [
        pytest.param({}, False, UNKNOWN, id="nothing is said of it: the system's authorities count"),
        pytest.param({}, True, "a", id="enableHTTPS without an authority trusts anybody"),
        pytest.param({"insecure": True}, False, "a", id="insecure trusts anybody"),
        pytest.param({"ca_file": "server"}, False, "a", id="the authority as a file"),
        pytest.param({"ca_data": "server"}, False, "a", id="the authority as data"),
        pytest.param({"ca_file": "server"}, True, "a", id="the authority, and enableHTTPS"),
        pytest.param({"ca_file": "client"}, True, UNKNOWN, id="another authority, although enableHTTPS"),
        pytest.param({"ca_data": "server", "ca_file": "nowhere"}, False, "a", id="data go before files"),
        pytest.param(
            {"ca_file": "server", "server_name": "extender.example"},
            False,
            "tls: failed to verify certificate: x509: Hostname mismatch, "
            "certificate is not valid for 'extender.example'",
            id="another name than that of the certificate",
        ),
    ],
)
def test_who_the_server_is(files: Files, tls: dict[str, Any], enable_https: bool, said: str) -> None:
    with ExtenderServer({"filter": {"NodeNames": ["a"]}}, server_tls(files.server, files.server_key)) as server:
        assert ask(server.url, resolved(files, tls), enable_https=enable_https) == said


def test_the_name_of_the_certificate_can_be_given(files: Files) -> None:
    tls = ExtenderTLSConfig(ca_file=str(files.named), server_name="extender.example")
    with ExtenderServer({"filter": {"NodeNames": ["a"]}}, server_tls(files.named, files.named_key)) as server:
        assert ask(server.url, tls) == "a"


@pytest.mark.parametrize(
    ("tls", "said"),
    [
        pytest.param({}, WANTED, id="none"),
        pytest.param({"cert_file": "client", "key_file": "client_key"}, "a", id="as files"),
        pytest.param({"cert_data": "client", "key_data": "client_key"}, "a", id="as data"),
        pytest.param({"cert_file": "client"}, WANTED, id="without a key it is none"),
        pytest.param(
            {"cert_file": "named", "key_file": "named_key"}, "remote error: tls: unknown ca", id="of somebody else"
        ),
    ],
)
def test_who_we_are(files: Files, tls: dict[str, Any], said: str) -> None:
    context = server_tls(files.server, files.server_key, clients=files.client)
    with ExtenderServer({"filter": {"NodeNames": ["a"]}}, context) as server:
        assert ask(server.url, resolved(files, {**tls, "insecure": True})) == said


def resolved(files: Files, tls: dict[str, Any]) -> ExtenderTLSConfig:
    """A configuration with the files that it names, or what is in them."""
    out: dict[str, Any] = {}
    for field, value in tls.items():
        path = getattr(files, str(value), None)
        if field.endswith("_data"):
            assert path is not None
            out[field] = path.read_bytes()
        else:
            out[field] = str(path) if path is not None else value
    return ExtenderTLSConfig(**out)


def test_a_server_without_tls_is_told(files: Files) -> None:
    with ExtenderServer({"filter": {}}) as server:
        said = ask(server.url.replace("http:", "https:"), ExtenderTLSConfig(insecure=True))
    assert said == "http: server gave HTTP response to HTTPS client"


@pytest.mark.parametrize(
    ("tls", "problem"),
    [
        pytest.param({"ca_file": "/nowhere"}, "extenders.tlsConfig.caFile: /nowhere cannot be read", id="no file"),
        pytest.param({"ca_data": b"?"}, "extenders.tlsConfig.caData: has no readable certificate", id="no authority"),
        pytest.param(
            {"cert_data": b"?", "key_data": b"?"}, "extenders.tlsConfig: has no readable certificate", id="no key"
        ),
    ],
)
def test_certificates_that_cannot_be_read(tls: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        HTTPExtender(ExtenderConfig(url_prefix="https://x", tls_config=ExtenderTLSConfig(**tls)), where="config.yaml")
    assert str(raised.value).startswith(f"config.yaml: {problem}")
