"""Names, labels and numbers in sentences, and the known names that a mistyped one was meant for."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Final

from kschedctl.common.text.patterns import pattern

_NAMED: Final = 5
#: The minimum similarity of a suggested name, from 0 to 1, and its maximum distance from the best similarity.
_NEAR: Final = 0.65
_AS_NEAR: Final = 0.1


def listed(names: Sequence[str], conjunction: str = "and", most: int = _NAMED) -> str:
    """Join names for a sentence; if there are more than `most`, by default 5, count the rest.

    >>> listed(["a"]), listed(["a", "b", "c"], "or"), listed(["a", "b", "c", "d"], most=2)
    ('a', 'a, b or c', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {conjunction} {names[-1]}"


def similar(name: str, names: Iterable[str]) -> list[str]:
    """Return up to 5 known names that `name` may have been meant for: those that it begins, else the most similar ones.

    >>> similar("web-77", ["web-7", "web-1"]), similar("web", ["web-1", "wed"]), similar("foo", ["pod"])
    (['web-7'], ['web-1'], [])
    """
    known = list(dict.fromkeys(names))
    if name and (longer := [other for other in known if other.startswith(name)]):
        return longer[:_NAMED]
    close = get_close_matches(name, known, n=_NAMED, cutoff=_NEAR)
    # If one name differs by a single letter, names that only share its pattern are not suggested.
    nearest = max((_ratio(name, other) for other in close), default=0.0)
    return [other for other in close if _ratio(name, other) >= nearest - _AS_NEAR]


def _ratio(name: str, other: str) -> float:
    return SequenceMatcher(None, other, name).ratio()


def show_labels(labels: Mapping[str, str | None]) -> str:
    """Format label values; ``None`` means that the label is absent.

    >>> show_labels({"zone": "a", "disk": None})
    'zone=a, no disk'
    """
    return ", ".join(f"no {key}" if value is None else f"{key}={value}" for key, value in labels.items())


def counted(number: int, noun: str) -> str:
    """Format a number with a noun in the singular or plural.

    >>> counted(1, "node"), counted(0, "pod")
    ('1 node', '0 pods')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def counted_with(total: int, noun: str, some: int, one: str, several: str = "") -> str:
    """Format a number of things, and how many of them are in some state.

    Args:
        one, several: The state of one of them, and of several, if its words differ.

    >>> [counted_with(total, "pod", some, "pending") for total, some in ((77, 4), (77, 0), (1, 1), (0, 0))]
    ['77 pods, 4 of them pending', '77 pods, none of them pending', '1 pod, pending', '0 pods']
    >>> [counted_with(3, "budget", some, "allows none", "allow none") for some in (1, 2)]
    ['3 budgets, 1 of them allows none', '3 budgets, 2 of them allow none']
    """
    if not total or (total == 1 and not some):
        return counted(total, noun)
    words = one if some == 1 else several or one
    which = words if total == 1 else f"{some or 'none'} of them {words}"
    return f"{counted(total, noun)}, {which}"


# Typing mistakes in names: known names that a wrong one was meant for.
#
# `meant` is strict, because the corrected name becomes a cure: names that differ in a digit, such as zones and models
# of
# devices, or in their first letter, such as ``cpu`` and ``gpu``, are different names. `nearest` is for hints.

#: The least length of names in which a letter may be replaced, and of names with two mistakes.
_LONG: Final = 5
_VERY_LONG: Final = 9
_PARTS: Final = pattern(r"[-_./:]")
_SEPARATORS: Final = str.maketrans("", "", "-_. ")


def meant(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that `name` was probably meant for, the most similar first.

    >>> meant("nvem", ["hdd", "nvme"]), meant("SSD", ["ssd"]), meant("eu-1c", ["eu-1a"]), meant("cpu", ["gpu"])
    (['nvme'], ['ssd'], [], [])
    """
    ranked = sorted((found, other) for other in dict.fromkeys(names) if (found := mistakes(name, other)))
    return [other for found, other in ranked if found == ranked[0][0]]


def mistakes(name: str, other: str) -> int:
    """Return the number of typing mistakes by which a name differs from another one; 0 if the names are different.

    Another case or other separators count as one mistake.
    """
    if not name or not other or name == other:
        return 0
    one, two = name.casefold(), other.casefold()
    if one == two or one.translate(_SEPARATORS) == two.translate(_SEPARATORS):
        return 1
    mine, others = _PARTS.split(one), _PARTS.split(two)
    if len(mine) == len(others) > 1:
        # Each part must be meant for the other one: eu-west is not eu-east, and team-a is not team-b.
        found = [mistakes(part, other) for part, other in zip(mine, others, strict=True) if part != other]
        return sum(found) if all(found) and sum(found) <= 2 else 0
    shorter = min(len(one), len(two))
    most = 2 if shorter >= _VERY_LONG else 1
    n_edits = edits(one, two)
    if shorter < 3 or n_edits > most or _digits(one) != _digits(two):
        return 0
    swapped = n_edits == 1 and len(one) == len(two) and sorted(one) == sorted(two)
    if one[0] != two[0] and not swapped:
        return 0
    replaced = n_edits == 1 and len(one) == len(two) and not swapped
    return 0 if replaced and shorter < _LONG else n_edits


def _digits(text: str) -> list[str]:
    return [letter for letter in text if letter.isdigit()]


def edits(one: str, other: str) -> int:
    """Return the least number of letters to insert, delete or replace, or of neighbours to swap.

    >>> edits("nvem", "nvme"), edits("zone", "zones"), edits("os", "arch")
    (1, 1, 4)
    """
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, compared in enumerate(other, 1):
            least = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (letter != compared))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == compared:
                least = min(least, rows[i - 2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]


def nearest(name: str, names: Iterable[str], most: int = 2) -> str:
    """Return the known name with the fewest `edits` from `name`, at most `most`; empty if there is none.

    The number of edits ignores case, which only decides between names with the same number.

    >>> nearest("SSD", ["ssd", "hdd"]), nearest("gpu", ["memory"])
    ('ssd', '')
    """
    ranked = sorted((edits(name.lower(), each.lower()), edits(name, each), each) for each in names)
    return ranked[0][2] if ranked and ranked[0][0] <= most else ""


#: The longest duration in seconds alone, and the shortest one in years.
_IN_SECONDS, _YEARS = 120, 2


_YEAR: Final = 365 * 86_400


def duration(seconds: int) -> str:
    """Format a duration in its two largest units.

    >>> duration(30), duration(3600), duration(95), duration(200_000)
    ('30 s', '1 h', '1 min 35 s', '2 d 7 h')
    """
    parts = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        amount, seconds = divmod(seconds, size)
        parts.append((amount, unit))
    first = next((i for i, (amount, _) in enumerate(parts) if amount), len(parts) - 1)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount) or "0 s"


def time_span(seconds: float) -> str:
    """Format a duration of any length: up to two minutes in seconds, from two years on in years.

    >>> time_span(100), time_span(3700), time_span(2_147_483_647)
    ('100 s', '1 h 1 min', '68 years')
    """
    whole = max(round(seconds), 0)
    years = whole // _YEAR
    return f"{years:,} years" if years >= _YEARS else f"{whole} s" if whole <= _IN_SECONDS else duration(whole)


def near(name: str, names: Iterable[str], what: str) -> str:
    """Return a hint for an unknown name: similar known names, or else all known names."""
    known = list(dict.fromkeys(names))
    close = similar(name, known)
    if close:
        return f"did you mean {listed(close, 'or')}?"
    return f"the {what} are {listed(known)}" if known else f"there are no {what}"


def price_text(price: float) -> str:
    """Return a price with at most four decimals.

    >>> price_text(0.2904), price_text(1.5)
    ('0.2904', '1.5')
    """
    return f"{price:.4f}".rstrip("0").rstrip(".")
