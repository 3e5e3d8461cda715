"""Pseudonyms for names: a text has the same pseudonym wherever it occurs.

Equal texts therefore stay equal: a node's name, its hostname label and the value in a pod's affinity. The pseudonyms of
a category have the same order as the originals, so that results that depend on the order of names stay the same.
"""

import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Final

from kschedctl.sources.snapshot.public_names import (
    is_kept_domain,
    is_kept_key,
    is_kept_resource,
    is_kept_word,
    is_own_word,
)

_ZONE_DELIMITER: Final = "__"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
#: Name formats with parts that have a meaning for scheduling.
_AWS_VOLUME: Final = re.compile(r"aws://([^/]*)/(.+)")
_EBS: Final = "vol-"
_GCE_DISK: Final = re.compile(r"projects/([^/]+)/(zones|regions)/([^/]+)/disks/(.+)")
_GCE_ZONE: Final = re.compile(r"([a-z]+-[a-z]+[0-9]+)-([a-z])", re.ASCII)
_NUMBERED: Final = re.compile(r"(.+)-([0-9]+)")
_ANY_ADDRESSES: Final = frozenset({"", "0.0.0.0", "::", "127.0.0.1", "::1"})
_LATEST: Final = "latest"
_HUGE_PAGES: Final = "hugepages-"
_NATIVE: Final = "kubernetes.io/"
_ATTACHABLE: Final = "attachable-volumes-csi-"
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_FORMS: Final[dict[str, Callable[[int, int], str]]] = {
    "uid": lambda number, _: f"00000000-0000-4000-8000-{number:012d}",
    "address": lambda number, _: f"198.18.{number // 256}.{number % 256}",
    "digest": lambda number, _: f"sha256:{sha256(str(number).encode()).hexdigest()}",
    # Valid as a field name in CEL expressions.
    "attribute": lambda number, width: f"attribute_{number:0{width}d}",
    "vol": lambda number, width: f"{_EBS}{number:0{width}d}",
}


class Pseudonyms:
    """A collection of pseudonyms: texts are registered first, and pseudonyms are assigned afterwards by ``settle``.

    Until ``settle`` is called, the methods register a text and return it unchanged.
    """

    def __init__(self) -> None:
        self._met: dict[str, str] = {}
        self._values: dict[str, set[str]] = {}
        self._compared: set[str] = set()
        self._settled: dict[str, str] | None = None

    def word(self, text: str, category: str = "name") -> str:
        if is_kept_word(text):
            return text
        if _ZONE_DELIMITER in text:
            return _ZONE_DELIMITER.join(self.word(part, category) for part in text.split(_ZONE_DELIMITER))
        if (aws := _AWS_VOLUME.fullmatch(text)) is not None:
            return f"aws://{self.word(aws[1])}/{self.word(aws[2])}"
        if (disk := _GCE_DISK.fullmatch(text)) is not None:
            return f"projects/{self.word(disk[1])}/{disk[2]}/{self.word(disk[3])}/disks/{self.word(disk[4])}"
        if (zone := _GCE_ZONE.fullmatch(text)) is not None:
            return f"{self.word(zone[1], 'region')}-{zone[2]}"
        return self._of(text, "vol" if text.startswith(_EBS) else category)

    def key(self, key: str) -> str:
        """Return the pseudonym of a label, taint or topology key."""
        if is_kept_key(key):
            return key
        domain, slash, name = key.rpartition("/")
        if slash and is_kept_domain(domain):
            return f"{domain}/{self._of(name, 'key')}"
        return self._of(key, "key")

    def value(self, key: str, value: str) -> str:
        """Return the pseudonym of a label's or taint's value; a number whose key is compared numerically is kept."""
        if self._settled is None and _INTEGER.fullmatch(value):
            self._values.setdefault(key, set()).add(value)
        return self.word(value, "value")

    def compare(self, key: str, values: Iterable[str]) -> tuple[str, ...]:
        """Return the numbers that the values of a key are compared with, unchanged."""
        values = tuple(values)
        if self._settled is None:
            self._compared.add(key)
            self._values.setdefault(key, set()).update(value for value in values if _INTEGER.fullmatch(value))
        return tuple(self.word(value, "value") for value in values)

    def resource(self, name: str) -> str:
        """Return the pseudonym of a resource; extended resources stay extended resources."""
        prefix = next((prefix for prefix in ("requests.", "limits.") if name.startswith(prefix)), "")
        rest = name.removeprefix(prefix)
        storage_class, of_class, what = rest.partition(".storageclass.storage.k8s.io/")
        if of_class:
            return f"{self.word(storage_class)}{of_class}{what}"
        if rest.startswith(_ATTACHABLE):
            return f"{prefix}{_ATTACHABLE}{self.word(rest.removeprefix(_ATTACHABLE))}"
        if rest.startswith(_DEVICE_CLASS):
            return f"{prefix}{_DEVICE_CLASS}{self.word(rest.removeprefix(_DEVICE_CLASS))}"
        if is_kept_resource(rest):
            return name
        pseudonym = self._of(rest, "resource")
        if rest.startswith(_HUGE_PAGES):
            domain = _HUGE_PAGES
        else:
            # Kubernetes treats these names as native resources, which the scheduler does not count.
            domain = _NATIVE if "/" not in rest or _NATIVE in rest else "example.com/"
        return name if self._settled is None else f"{prefix}{domain}{pseudonym}"

    def choice(self, text: str) -> str:
        """Return a value of a field with a fixed set of values; any other text gets a pseudonym."""
        return text if is_own_word(text) else self.word(text)

    def image(self, name: str) -> str:
        """Return the pseudonym of an image; a missing tag and the tag ``latest`` are kept."""
        named, at, digest = name.partition("@")
        colon = named.rfind(":")
        tagged = colon > named.rfind("/")
        repository, tag = (named[:colon], named[colon + 1 :]) if tagged else (named, "")
        out = self._of(repository, "image") if repository else ""
        if tagged:
            out += f":{tag if tag in (_LATEST, '') else self._of(tag, 'tag')}"
        return f"{out}@{self._of(digest, 'digest')}" if at else out

    def address(self, text: str) -> str:
        """Return the pseudonym of a host address; wildcard and loopback addresses are kept."""
        return text if text in _ANY_ADDRESSES else self._of(text, "address")

    def uid(self, text: str) -> str:
        return self._of(text, "uid") if text else text

    def holder(self, identity: str) -> str:
        """Return the pseudonym of a lease holder: a host or pod name, often followed by ``_`` and a unique id."""
        host, underline, unique = identity.partition("_")
        return f"{self.word(host)}{underline}{self.uid(unique)}"

    def known(self, text: str) -> str | None:
        """Return the pseudonym of a registered text, else ``None``."""
        return None if self._settled is None else self._settled.get(text)

    def originals(self) -> dict[str, str]:
        """Return the original text of each pseudonym, after ``settle``; texts that are kept are left out."""
        return {new: old for old, new in (self._settled or {}).items() if new != old}

    def _of(self, text: str, category: str) -> str:
        if self._settled is None:
            self._met.setdefault(text, category)
            return text
        return self._settled[text]

    def settle(self, stateful: Iterable[str], claims: Iterable[tuple[str, str]]) -> None:
        """Assign the pseudonyms.

        Args:
            claims: Names of pods and volumes that form the names of claims when joined with a hyphen.
        """
        categories: dict[str, list[str]] = {}
        for text, category in self._met.items():
            categories.setdefault(category, []).append(text)
        settled: dict[str, str] = {}
        for category, texts in categories.items():
            width = len(str(len(texts)))
            form = _FORMS.get(category, lambda number, width, name=category: f"{name}-{number:0{width}d}")
            settled |= {text: form(number, width) for number, text in enumerate(sorted(texts), 1)}
        for key in self._compared:
            settled |= {number: number for number in self._values.get(key, ()) if number in settled}
        self._settled = settled
        bases = {base: "-".join(self.word(part) for part in base.split("\0")) for base in stateful}
        by_name = {base.replace("\0", "-"): pseudonym for base, pseudonym in bases.items()}
        for text in self._met:
            if (numbered := _NUMBERED.fullmatch(text)) is not None and numbered[1] in by_name:
                settled[text] = f"{by_name[numbered[1]]}-{numbered[2]}"
        for pod, volume in claims:
            if f"{pod}-{volume}" in settled:
                settled[f"{pod}-{volume}"] = f"{self.word(pod)}-{self.word(volume)}"
