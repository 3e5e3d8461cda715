"""Checks of the operands of a reason: their text, documentation and serialisation."""

from __future__ import annotations

import msgspec

from kschedctl.scheduler.framework.operands import Operands


def check_operands(operands: Operands) -> None:
    """Check the operands of a reason.

    Raises
    ------
    AssertionError
        If the operands have no text, do not survive a round trip through JSON, have a field that is not documented, or
        report a shortfall that is not positive.
    """
    kind = type(operands)
    assert isinstance(operands, Operands), f"operands are a {kind.__name__}, not a struct derived from Operands"
    undocumented = undocumented_fields(kind)
    assert not undocumented, f"the docstring of {kind.__name__} does not document {', '.join(undocumented)}"
    words = operands.words()
    assert isinstance(words, str), f"the text of {kind.__name__} is a {type(words).__name__}"
    assert words, f"{kind.__name__} has no text"
    try:
        msgspec.json.encode(operands.data())
        again = msgspec.json.decode(msgspec.json.encode(operands), type=kind)
    except (TypeError, NotImplementedError, msgspec.MsgspecError) as error:
        raise AssertionError(f"{kind.__name__} cannot be encoded as JSON: {error}") from None
    assert again == operands, f"{kind.__name__} is decoded from JSON as {again!r}"
    shortfall = operands.shortfall()
    assert shortfall is None or shortfall.wanted > 0, f"the shortfall of {kind.__name__} is not positive"


def undocumented_fields(kind: type[Operands]) -> list[str]:
    """Return the fields that neither the docstring of a struct nor one of its base classes documents as attributes."""
    said = [line.strip() for base in kind.__mro__ for line in (base.__doc__ or "").splitlines()]
    return [name for name in kind.__struct_fields__ if not any(line.startswith(f"{name} : ") for line in said)]
