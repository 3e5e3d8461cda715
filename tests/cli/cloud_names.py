"""The shop with the long names of nodes, pods and volumes that managed clusters give them."""

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from uuid import UUID

_NODE: Final = re.compile(r"\b(node|gpu)-([1-9])\b")
_POD: Final = re.compile(r"\b(api|cart|checkout|web|search|recommend|inference|report)-([1-9])\b")
_VOLUME: Final = re.compile(r"\bpv-[a-z]+-[0-9]\b")

Renamed = Callable[[str, int], str]


def _gke(kind: str, number: int) -> str:
    pool = {"node": "default-pool-1a2b3c4d", "gpu": "gpu-pool-9f8e7d6c"}[kind]
    return f"gke-prod-cluster-{pool}-{_letters(kind, number, 4)}"


def _eks(kind: str, number: int) -> str:
    digest = hashlib.sha256(f"{kind}{number}".encode()).digest()
    return f"ip-10-0-{digest[0]}-{digest[1]}.eu-central-1.compute.internal"


def _aks(kind: str, number: int) -> str:
    pool = {"node": "nodepool1-12345678", "gpu": "gpupool-87654321"}[kind]
    return f"aks-{pool}-vmss{number:06}"


#: The names of nodes by cloud: a function of their kind (``node`` or ``gpu``) and number.
CLOUDS: Final[Mapping[str, Renamed]] = {"gke": _gke, "eks": _eks, "aks": _aks}


def renamed(text: str, cloud: str) -> str:
    """Return a text of the shop's fixtures with the names of a cloud."""
    text = _NODE.sub(lambda found: CLOUDS[cloud](found[1], int(found[2])), text)
    text = _POD.sub(lambda found: f"{found[1]}-7f9c6d5b84-{_letters(found[1], int(found[2]), 5)}", text)
    return _VOLUME.sub(lambda found: f"pvc-{UUID(bytes=hashlib.sha256(found[0].encode()).digest()[:16])}", text)


def renamed_folder(source: Path, to: Path, cloud: str) -> Path:
    """Write a folder of fixtures with the names of a cloud; return the new folder."""
    to.mkdir(parents=True)
    for path in source.iterdir():
        (to / path.name).write_text(renamed(path.read_text(), cloud))
    return to


def _letters(kind: str, number: int, length: int) -> str:
    digest = hashlib.sha256(f"{kind}-{number}".encode()).digest()
    return "".join("bcdfghjklmnpqrstvwxz2456789"[byte % 27] for byte in digest[:length])
