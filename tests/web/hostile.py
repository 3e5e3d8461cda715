"""Hostile requests: paths, parameters, headers, hosts and bodies that no well-meaning client sends."""

from random import Random
from typing import Final
from urllib.parse import quote

from kschedctl.web.questions.registry import QUESTIONS

_WORDS: Final = (
    "shop",
    "web-7",
    "node-8",
    "Deployment",
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "-",
    "a" * 5000,
    "\0",
    "\n",
    "%",
    "%00",
    "%2e%2e%2f",
    "\ud7ff",
    "\u202e",
    "💥",
    "<script>alert(1)</script>",
    "'\"`;--",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "*",
    "node-*",
    "[",
    "(((((",
    "a in (b",
    "a=b,c!=d",
    "-1",
    "0",
    "9" * 400,
    "1e999",
    "NaN",
    "true",
    "null",
    "cpu=1",
    "cpu=-1",
    "cpu=1e400",
    "KIND/NAME=3",
    "Deployment/shop/web=1000000000",
    "gpu=a:NoSchedule",
    "node-8:a=b:NoSchedule",
    "spread",
    "x" * 300,
)
_NAMES: Final = (
    "namespace",
    "name",
    "selector",
    "by",
    "sort-by",
    "node",
    "suggest",
    "seed",
    "prefer",
    "why",
    "withstand",
    "sampling",
    "q",
    "limit",
    "cordon",
    "drain",
    "fail-zone",
    "set-request",
    "set-priority",
    "taint",
    "label",
    "delete",
    "set-replicas",
    "tolerate",
    "node-selector",
    "drop-constraint",
    "apply",
    "max",
    "pod",
    "changes",
    "to",
    "severity",
    "select",
    "zone",
    "",
    "__class__",
)
_HEADERS: Final = (
    b"X-A: b",
    b"Cookie: \xff=\x01; kschedctl_session=x",
    b"Authorization: Bearer \xff",
    b"Accept: text/html",
    b"Range: bytes=0-",
    b"Content-Type: application/json",
    b"Content-Type: multipart/form-data; boundary=x",
    b"Expect: 100-continue",
    b"Transfer-Encoding: gzip",
    b"Upgrade: websocket\r\nConnection: Upgrade",
    b"X-Forwarded-Host: evil",
    b"Accept-Encoding: *",
    b"Origin: null",
    b"Sec-Fetch-Site: cross-site",
    b"X-HTTP-Method-Override: DELETE",
    b"If-None-Match: *",
    b"\x00: a",
    b"a",
    b": b",
)
_HOSTS: Final = (
    b"localhost",
    b"127.0.0.1:1",
    b"[::1]",
    b"evil.example.com",
    b"",
    b"localhost\x00",
    b"a" * 300,
    b"[::1",
    b"localhost:99999",
)
_POD: Final = (
    b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"x",'
    b'"resources":{"requests":{"cpu":"1"}}}]}}'
)
_BODIES: Final = (
    b"",
    b"\0",
    b"{",
    b"[]",
    b"[" * 3000,
    b"{" * 3000,
    b"a: b",
    b"- - - -",
    b"&a [*a]",
    b"a: &a [*a, *a]",
    b"\xff\xfe",
    b"\x1f\x8b\x08\x00",
    b"PK\x03\x04",
    b"---\n" * 500,
    b"!!python/object/apply:os.system [id]",
    b"%YAML 9.9\n---\na: b",
    b'"' * 999,
    b"9" * 9999,
    _POD,
    b"a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]",
    b"---\n# Source: ../../../etc/passwd\n" + _POD,
    b'{"apiVersion":"v1","kind":"List","items":[' + b",".join([_POD] * 20) + b"]}",
    _POD.replace(b'"1"', b'"1e9999"'),
    _POD.replace(b'"a"', b'"../../a"'),
    _POD.replace(b"Pod", b"Node"),
    _POD * 2,
    _POD.replace(b'"containers"', b'"nodeName":"node-1","containers"'),
    _POD.replace(b"image", b"\xff"),
)


def request(random: Random) -> bytes:
    """Return a request that ends the connection."""
    question = random.choice(QUESTIONS)
    path = f"/api/v1{question.path}"
    if random.random() < 0.2:
        path = "/" + "/".join(_word(random) for _ in range(random.randrange(6)))
    for name in ("kind", "namespace", "name"):
        path = path.replace(f"{{{name}}}", _word(random))
    pairs = [f"{quote(random.choice(_NAMES))}={_word(random)}" for _ in range(random.choice((0, 0, 1, 2, 3, 300)))]
    target = path.encode() + (b"?" + "&".join(pairs).encode() if pairs else b"")
    method = (
        question.method
        if random.random() < 0.8
        else random.choice(("GET", "POST", "PUT", "DELETE", "HEAD", "BREW", "get"))
    )
    body = _mutated(random, random.choice(_BODIES)) if method != "GET" or random.random() < 0.1 else b""
    host = b"localhost" if random.random() < 0.85 else random.choice(_HOSTS)
    headers = [b"Host: " + host, b"Connection: close", *random.sample(_HEADERS, random.choice((0, 0, 0, 1, 2)))]
    if random.random() < 0.9:
        headers.append(b"Content-Length: %d" % len(body))
    else:
        headers.append(b"Transfer-Encoding: chunked")
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    return b"%s %s HTTP/1.1\r\n%s\r\n\r\n%s" % (method.encode(), target, b"\r\n".join(headers), body)


def _word(random: Random) -> str:
    word = random.choice(_WORDS)
    return quote(word, safe="") if random.random() < 0.95 else quote(word, safe="/%<>'\"")


def _mutated(random: Random, body: bytes) -> bytes:
    if body and random.random() < 0.3:
        at = random.randrange(len(body))
        return body[:at] + random.randbytes(random.randrange(4)) + body[at + random.randrange(4) :]
    return body
