"""The CEL environment of device selectors: ``device``, Kubernetes' functions, and compile errors in cel-go's words.

The library (cel-expr-python, the C++ implementation) parses and type-checks. ``device`` is declared field by field, so
that no protobuf message is needed. Attributes have an unknown type, as upstream.
"""

import re
from functools import cache
from typing import Any, Final

from kschedctl.common.errors import UnsupportedError
from kschedctl.common.extras import install_command
from kschedctl.scheduler.devices.cel.extensions import NOT_MODELLED_FUNCTIONS
from kschedctl.scheduler.devices.cel.syntax import Node, UnknownSyntaxError, read_checked

DRIVER: Final = "device.driver"
ATTRIBUTES: Final = "device.attributes"
CAPACITY: Final = "device.capacity"
MULTIPLE_ALLOCATIONS: Final = "device.allowMultipleAllocations"
_DEVICE_TYPE: Final = "kubernetes.DRADevice"
#: The library's name for an unknown type.
_UNKNOWN: Final = "ERROR"
_ERROR: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_PRESENCE: Final = re.compile(r"\bhas\(\s*device\.(?:driver|attributes|capacity|allowMultipleAllocations)\s*\)")
_OPERAND: Final = re.compile(r"expression of type '(.*)' cannot be the operand of a select operation")
_DOTTED: Final = re.compile(r"undeclared reference to '(\w+)\.[\w.]+' \(in container ''\)")
_OVERLOAD: Final = re.compile(r"found no matching overload for '(.*)' applied to '(.*)'")
_UNDECLARED: Final = re.compile(r"undeclared reference to '([\w.]+)'")
#: The common prefix of the names of address types.
_ADDRESS_TYPES: Final = "net"
#: The library accepts no further overloads of its own functions.
_ADDRESS_TEXT: Final = "found no matching overload for 'string' applied to '(net."
#: Types whose names differ in cel-go, by their name alone and by their name in signatures.
_LONG: Final = {"DURATION": "google.protobuf.Duration", "TIMESTAMP": "google.protobuf.Timestamp"}
_SHORT: Final = re.compile(r"google\.protobuf\.(Duration|Timestamp)")
_NO_BUILD: Final = (
    "where pip finds no build of it, as on Alpine and for Python 3.15: use an image such as python:3.14-slim"
)


class CompileError(Exception):
    """An error for an expression that the scheduler cannot compile, in the scheduler's words."""


class NotModelledError(Exception):
    """An error for an expression that the scheduler can compile and kschedctl cannot."""


def check(expression: str) -> Node:
    """Parse an expression and check its types.

    Raises CompileError if the scheduler cannot compile the expression as a selector.
    Raises NotModelledError if the expression uses a part of Kubernetes' CEL that is not modelled.
    Raises UnsupportedError if the library is not installed.
    """
    environment = _environment()
    try:
        # The library takes a field of ``device`` for a variable, whose presence cannot be tested. Positions stay.
        checked = environment.compile(_PRESENCE.sub(lambda found: "true".ljust(len(found[0])), expression))
    except RuntimeError as error:
        text = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
        for name in _UNDECLARED.findall(text):
            if name.rpartition(".")[2] in NOT_MODELLED_FUNCTIONS or name.partition(".")[0] == _ADDRESS_TYPES:
                raise NotModelledError(f"{name}() in the selector {expression}") from None
        if _ADDRESS_TEXT in text:
            raise NotModelledError(f"string() of an address in the selector {expression}") from None
        raise CompileError(f"compilation failed: {_as_cel_go(text, expression)}") from None
    kind = checked.return_type().name()
    if kind not in ("BOOL", _UNKNOWN):
        raise CompileError(f"must evaluate to bool or the unknown type, not {_type_text(kind)}")
    try:
        return read_checked(checked.serialize())
    except UnknownSyntaxError as message:
        raise NotModelledError(f"the message {message} in the selector {expression}") from None


def _type_text(name: str) -> str:
    """Return the name of a type in cel-go's words."""
    text = re.sub(
        r"(?<![.\w])[A-Z_]+\b", lambda found: _LONG.get(found[0], found[0].lower()), name.replace(_UNKNOWN, "any")
    )
    return text.replace("<", "(").replace(">", ")")


def _as_cel_go(text: str, expression: str) -> str:
    """Return the library's errors in cel-go's words, each with its source line."""
    lines = expression.split("\n")
    blocks = []
    for found in _ERROR.finditer(text):
        line, column, problem = int(found[1]), int(found[2]), found[3]
        source = lines[line - 1] if line <= len(lines) else ""
        column, problem = _reworded(source, column, problem)
        blocks.append(f"ERROR: <input>:{line}:{column}: {problem}\n | {source}\n | {'.' * (column - 1)}^")
    return "\n".join(blocks) or text


def _reworded(source: str, column: int, problem: str) -> tuple[int, str]:
    before, after = source[: column - 1], source[column - 1 :]
    if problem == f"expression of type '{_DEVICE_TYPE}' cannot be the operand of a select operation":
        field = re.match(r"\.?\s*\??\s*(\w+)", after)
        return column, f"undefined field '{field[1] if field is not None else ''}'"
    if (operand := _OPERAND.fullmatch(problem)) is not None:
        return column, f"type '{operand[1]}' does not support field selection"
    if (dotted := _DOTTED.fullmatch(problem)) is not None:
        # cel-go names the first part of the chain of fields.
        return before.rfind(dotted[1]) + 1, f"undeclared reference to '{dotted[1]}' (in container '')"
    if (overload := _OVERLOAD.fullmatch(problem)) is not None:
        function, signature = overload[1], _SHORT.sub(lambda found: found[1].lower(), overload[2])
        signature = signature.replace("null_type", "null")
        if re.search(rf"\.\s*{re.escape(function)}\s*$", before):
            signature = _as_method(signature)
        return column, f"found no matching overload for '{function}' applied to '{signature}'"
    return column, problem.replace("cannot be the range of a", "cannot be range of a")


def _as_method(signature: str) -> str:
    """Rewrite a signature like ``(string, int)`` as ``string.(int)``."""
    depth = 0
    for i, character in enumerate(signature):
        depth += (character in "(<") - (character in ")>")
        if depth == 1 and character == ",":
            return f"{signature[1:i]}.({signature[i + 2 :]}"
    return f"{signature[1:-1]}.()"


@cache
def _environment() -> Any:
    """Return the library's environment."""
    try:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_bindings, ext_optional
    except ModuleNotFoundError:
        problem = "device selectors are written in CEL, which needs cel-expr-python, which is not installed"
        raise UnsupportedError(problem, hint=f"{install_command('devices')}\n{_NO_BUILD}") from None
    kinds = cel.Type
    quantity = kinds.AbstractType("kubernetes.Quantity", [])
    semver = kinds.AbstractType("kubernetes.Semver", [])
    unknown = kinds("any")
    variables = {
        "device": kinds.AbstractType(_DEVICE_TYPE, []),
        DRIVER: kinds.STRING,
        ATTRIBUTES: kinds.Map(kinds.STRING, kinds.Map(kinds.STRING, unknown)),
        CAPACITY: kinds.Map(kinds.STRING, kinds.Map(kinds.STRING, quantity)),
        MULTIPLE_ALLOCATIONS: kinds.BOOL,
    }
    short = {
        "s": kinds.STRING,
        "b": kinds.BOOL,
        "i": kinds.INT,
        "d": kinds.DOUBLE,
        "q": quantity,
        "v": semver,
        "l": kinds.List(kinds.DYN),
        "t": kinds.List(kinds.STRING),
        "x": kinds.DYN,
        "a": kinds.AbstractType("net.IP", []),
        "c": kinds.AbstractType("net.CIDR", []),
        "u": kinds.AbstractType("kubernetes.URL", []),
        "m": kinds.Map(kinds.STRING, kinds.List(kinds.STRING)),
    }

    def overload(name: str, signature: str) -> Any:
        arguments, result = signature.lstrip(".").split(":")
        kinds_of_arguments = [short[argument] for argument in arguments]
        return cel.Overload(
            f"{name}_{signature}", short[result], kinds_of_arguments, is_member=signature.startswith(".")
        )

    functions = [
        cel.FunctionDecl(name, [overload(name, signature) for signature in overloads])
        for name, overloads in _DECLARATIONS.items()
    ]
    extensions = [ext_optional.ExtOptional(), ext_bindings.ExtBindings()]
    return cel.NewEnv(variables=variables, extensions=extensions, functions=functions)


#: Kubernetes' functions: arguments and result are one letter each; a leading dot marks a method.
_DECLARATIONS: Final[dict[str, tuple[str, ...]]] = {
    "quantity": ("s:q",),
    "isQuantity": ("s:b",),
    "sign": ("q:i",),
    "isInteger": (".q:b",),
    "asInteger": (".q:i",),
    "asApproximateFloat": (".q:d",),
    "add": (".qq:q", ".qi:q"),
    "sub": (".qq:q", ".qi:q"),
    "compareTo": (".qq:i", ".vv:i"),
    "isLessThan": (".qq:b", ".vv:b"),
    "isGreaterThan": (".qq:b", ".vv:b"),
    "semver": ("s:v", "sb:v"),
    "isSemver": ("s:b", "sb:b"),
    "major": (".v:i",),
    "minor": (".v:i",),
    "patch": (".v:i",),
    "isSorted": (".l:b",),
    "sum": (".l:x",),
    "min": (".l:x",),
    "max": (".l:x",),
    "charAt": (".si:s",),
    "indexOf": (".ss:i", ".ssi:i", ".lx:i"),
    "lastIndexOf": (".ss:i", ".ssi:i", ".lx:i"),
    "join": (".t:s", ".ts:s"),
    "lowerAscii": (".s:s",),
    "upperAscii": (".s:s",),
    "replace": (".sss:s", ".sssi:s"),
    "split": (".ss:t", ".ssi:t"),
    "substring": (".si:s", ".sii:s"),
    "trim": (".s:s",),
    "find": (".ss:s",),
    "findAll": (".ss:t", ".ssi:t"),
    "ip": ("s:a", ".c:a"),
    "isIP": ("s:b",),
    "ip.isCanonical": ("s:b",),
    "family": (".a:i",),
    "isUnspecified": (".a:b",),
    "isLoopback": (".a:b",),
    "isLinkLocalMulticast": (".a:b",),
    "isLinkLocalUnicast": (".a:b",),
    "isGlobalUnicast": (".a:b",),
    "cidr": ("s:c",),
    "isCIDR": ("s:b",),
    "containsIP": (".cs:b", ".ca:b"),
    "containsCIDR": (".cs:b", ".cc:b"),
    "prefixLength": (".c:i",),
    "masked": (".c:c",),
    "url": ("s:u",),
    "isURL": ("s:b",),
    "getScheme": (".u:s",),
    "getHost": (".u:s",),
    "getHostname": (".u:s",),
    "getPort": (".u:s",),
    "getEscapedPath": (".u:s",),
    "getQuery": (".u:m",),
    "sets.contains": ("ll:b",),
    "sets.equivalent": ("ll:b",),
    "sets.intersects": ("ll:b",),
}
