"""The dataclasses of the package behave as those of the standard library."""

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, cast

import pytest

from kschedctl.common import dataclass as ours

Decorator = Callable[..., Any]


def plain(dataclass: Decorator) -> type[Any]:
    @dataclass
    class Plain:
        """A class that is not frozen."""

        name: str
        count: int = 1
        others: list[str] = dataclasses.field(default_factory=list)

    return Plain


def frozen(dataclass: Decorator) -> type[Any]:
    @dataclass(frozen=True, slots=True)
    class Frozen:
        """A class that is frozen."""

        kind: ClassVar[str] = "k"
        name: str
        _: dataclasses.KW_ONLY
        count: int
        hidden: int = dataclasses.field(default=3, repr=False, compare=False)

    return Frozen


def keywords(dataclass: Decorator) -> type[Any]:
    @dataclass(frozen=True, kw_only=True)
    class Base:
        """A base."""

        count: int = 2

    @dataclass(frozen=True, kw_only=True)
    class Keywords(Base):
        """A class with a base, whose fields without a default come last."""

        name: str
        length: int = dataclasses.field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", len(self.name))

    return Keywords


def single(dataclass: Decorator) -> type[Any]:
    @dataclass(slots=True, eq=False)
    class Single:
        """A class whose objects are equal to themselves alone."""

        name: str

    return Single


def own(dataclass: Decorator) -> type[Any]:
    @dataclass(frozen=True, slots=True)
    class Own:
        """A class with methods of its own."""

        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.name.lower() == other.name.lower()

        def __hash__(self) -> int:
            return hash(self.name.lower())

        def __repr__(self) -> str:
            return self.name

    return Own


def ordered(dataclass: Decorator) -> type[Any]:
    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        """A class whose objects have an order."""

        name: str

    return Ordered


def empty(dataclass: Decorator) -> type[Any]:
    @dataclass(frozen=True, slots=True)
    class Empty:
        """A class without fields."""

    return Empty


DECLARATIONS = [plain, frozen, keywords, single, own, ordered, empty]
ARGUMENTS: list[dict[str, Any]] = [
    {"name": "a", "count": 1},
    {"name": "A", "count": 1},
    {"name": "a", "count": 2},
    {"name": "a", "count": 1, "hidden": 4},
    {"name": "a", "count": 1, "others": ["b"]},
    {"name": float("nan"), "count": 1},
    {"name": "a"},
    {"count": 1},
    {},
]


def result(function: Callable[[], Any]) -> Any:
    """Return the result of a function, or its error."""
    try:
        return function()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def behaviour(made: type[Any]) -> list[Any]:
    """Return what can be observed of a class and its objects."""
    seen: list[Any] = [inspect.signature(made), made.__match_args__, made.__hash__ is None, made.__doc__]
    seen += [(each.name, each.default is dataclasses.MISSING) for each in dataclasses.fields(made)]
    values: list[Any] = [result(partial(cast("Decorator", made), **given)) for given in ARGUMENTS]
    seen.append(result(lambda: made("a")))
    for one in values:
        seen += [one] if isinstance(one, tuple) else behaviour_of_object(one, values)
    return seen


def behaviour_of_object(one: Any, values: list[Any]) -> list[Any]:
    seen = [
        repr(one),
        result(lambda: vars(one)),
        dataclasses.asdict(one),
        result(lambda: [one == other for other in values]),
        result(lambda: one < one),
        result(lambda: [hash(one) == hash(other) for other in values if not isinstance(other, tuple)]),
        result(lambda: repr(dataclasses.replace(one, name="b"))),
        result(lambda: repr(copy.copy(one))),
    ]
    # The error of the standard library for a class without fields is another.
    if dataclasses.fields(one):
        seen += [result(lambda: setattr(one, "name", "c")), repr(one), result(lambda: delattr(one, "name"))]
    return seen


@pytest.mark.parametrize("declare", DECLARATIONS)
def test_behaviour_is_that_of_the_standard_library(declare: Callable[[Decorator], type[Any]]) -> None:
    def texts(dataclass: Decorator) -> list[str]:
        return [str(each) for each in behaviour(declare(dataclass))]

    assert texts(ours.dataclass) == texts(dataclasses.dataclass)


def test_mutable_objects_are_compared_and_not_hashed() -> None:
    made = plain(ours.dataclass)
    one, other = made("a"), made("a")
    assert one == other
    other.others.append("b")
    assert one != other
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@ours.dataclass(frozen=True, slots=True)
class Pickled:
    """A class that can be imported."""

    name: str
    tree: tuple["Pickled", ...] = ()


def test_frozen_objects_are_pickled() -> None:
    one = Pickled("a", (Pickled("b"),))
    assert pickle.loads(pickle.dumps(one)) == one
    assert {copy.deepcopy(one), one} == {one}


def test_objects_that_contain_themselves_have_a_text() -> None:
    one = plain(ours.dataclass)("a")
    one.others.append(one)
    assert repr(one).endswith("others=[...])")


def test_subclass_without_decorator_is_another_type() -> None:
    made = frozen(ours.dataclass)
    other = type("Other", (made,), {})
    assert made("a", count=1) == made("a", count=1)
    assert made("a", count=1) != other("a", count=1)
    assert other("a", count=1) == other("a", count=1)


def test_all_classes_of_the_package_are_defined_so() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("kschedctl.") and module is not ours:
            assert vars(module).get("dataclass") is not dataclasses.dataclass, name
