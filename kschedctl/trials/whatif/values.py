"""Parsers and checks for the parts of a what-if option's value."""

from __future__ import annotations

from kschedctl.common.errors import InputError
from kschedctl.objects.kinds import is_namespaced
from kschedctl.objects.names import label_value_problems, qualified_name_problems
from kschedctl.objects.pod import EFFECTS
from kschedctl.trials.whatif.targets import find_kind


def split_node(text: str, expected: str) -> tuple[str, str]:
    """Split ``NODE:REST`` into the node and the rest.

    Raises
    ------
    InputError
        If the text does not have that form; the hint gives the expected form.
    """
    node, colon, rest = text.partition(":")
    if not node or not colon or not rest or "=" in node:
        raise InputError(f'"{text}" does not name a node and a change', hint=expected)
    return node, rest


def check_label(text: str, key: str, value: str, *, where: str = "") -> None:
    """Check the key and value of a label or taint.

    Raises
    ------
    InputError
        If the key or the value is not valid.
    """
    for part, problems in ((key, qualified_name_problems(key)), (value, label_value_problems(value))):
        if problems:
            raise InputError(f'"{text}": "{part}" is not valid here', where=where, hint="; ".join(problems))


def check_effect(text: str, effect: str, *, where: str = "") -> None:
    """Check the effect of a taint.

    Raises
    ------
    InputError
        If the effect is not one of Kubernetes' taint effects.
    """
    if effect not in EFFECTS:
        hint = f"the effects are {', '.join(EFFECTS)}"
        raise InputError(f'"{text}": "{effect}" is not a taint effect', where=where, hint=hint)


def split_target(text: str, namespace: str) -> tuple[str, str, str]:
    """Return kind, name and namespace of an object written as ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``.

    Raises
    ------
    InputError
        If the text names no object, or names an object in a namespace other than ``namespace``.
    """
    kind, _, rest = text.partition("/")
    own, slash, name = rest.rpartition("/")
    if not kind or not name or "/" in own or (slash and not own):
        raise InputError(f'"{text}" names no object', hint="KIND/NAME or KIND/NAMESPACE/NAME, such as pod/shop/web-1")
    if not is_namespaced(find_kind(kind)):
        if own:
            raise InputError(f'"{text}": a {find_kind(kind).__name__} has no namespace', hint=f"give {kind}/{name}")
        return kind, name, ""
    if own and namespace and own != namespace:
        raise InputError(f'"{text}" names another namespace than -n {namespace}')
    return kind, name, own or namespace
