"""A headless Chromium, driven by Selenium and the DevTools protocol."""

import base64
import io
import json
import shutil
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self

from pypdf import PdfReader
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

Scheme = Literal["light", "dark"]

_PROGRAMS: Final = ("chromium", "chromedriver")
#: A container has no sandbox of its own; everything else that speaks to a network is off.
_FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_SCRIPTS: Final = Path(__file__).parent / "scripts"
_KEYS: Final = {"Tab": 9, "ArrowRight": 39}


class Look(NamedTuple):
    """A width in pixels and a colour scheme, at which a page is looked at."""

    width: int
    scheme: Scheme

    def __str__(self) -> str:
        return f"{self.width} {self.scheme}"


#: A phone, a laptop and a large screen.
LOOKS: Final = tuple(Look(width, scheme) for width in (390, 1280, 2560) for scheme in ("light", "dark"))


def missing_programs() -> str:
    """Return the reason why no browser is available; empty if one is."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    return f"{' and '.join(missing)} not found in PATH" if missing else ""


def script(name: str) -> str:
    """Return the text of a script of the tests, which is an expression."""
    return (_SCRIPTS / f"{name}.js").read_text()


class Browser:
    """A browser with one window.

    Parameters
    ----------
    profile : Path
        The folder of the user profile, new and empty.
    """

    def __init__(self, profile: Path) -> None:
        options = ChromeOptions()
        program, driver = map(shutil.which, _PROGRAMS)
        assert program is not None
        options.binary_location = program
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self._driver = Chrome(options, Service(driver))
        # A window that is never in front would not tell its page about the focus.
        self._send("Emulation.setFocusEmulationEnabled", enabled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.quit()

    def open(self, page: Path | str, *, javascript: bool = True) -> None:
        """Open a file or an address, and forget what was logged before."""
        self._send("Emulation.setScriptExecutionDisabled", value=not javascript)
        self.console()
        self.requests()
        self._driver.get(page if isinstance(page, str) else page.as_uri())

    def look(self, look: Look, *, height: int = 900, medium: Literal["screen", "print"] = "screen") -> None:
        """Emulate a size of the screen in pixels, a colour scheme and a medium, and wait for the layout."""
        self._send(
            "Emulation.setDeviceMetricsOverride", width=look.width, height=height, deviceScaleFactor=1, mobile=False
        )
        # Transitions would show a mixture of two schemes.
        features = {"prefers-color-scheme": look.scheme, "prefers-reduced-motion": "reduce"}
        pairs = [{"name": name, "value": value} for name, value in features.items()]
        self._send("Emulation.setEmulatedMedia", media=medium, features=pairs)
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; that of a promise once it is fulfilled."""
        answer = self._send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def console(self) -> list[str]:
        """Return the warnings and errors of the console since the last call."""
        entries: Sequence[dict[str, Any]] = self._driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in entries if entry["level"] in ("WARNING", "SEVERE")]

    def requests(self) -> list[str]:
        """Return the addresses that were requested since the last call."""
        entries: Sequence[dict[str, Any]] = self._driver.get_log("performance")  # type: ignore[no-untyped-call]
        messages = [json.loads(entry["message"])["message"] for entry in entries]
        sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def press(self, key: str) -> None:
        """Press a key and release it."""
        for kind in ("rawKeyDown", "keyUp"):
            self._send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=_KEYS[key])

    def listeners(self) -> list[tuple[int, str]]:
        """Return the event listeners below ``document``, as the backend id of the element and the kind of event."""
        found = self._send("Runtime.evaluate", expression="document")
        answer = self._send("DOMDebugger.getEventListeners", objectId=found["result"]["objectId"], depth=-1)
        return [(listener["backendNodeId"], listener["type"]) for listener in answer["listeners"]]

    def call_on(self, node: int, function: str) -> Any:
        """Return the value of a JavaScript function that is called with ``this`` as the node of a backend id."""
        resolved = self._send("DOM.resolveNode", backendNodeId=node)
        answer = self._send(
            "Runtime.callFunctionOn",
            objectId=resolved["object"]["objectId"],
            functionDeclaration=function,
            returnByValue=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def printed(self) -> str:
        """Return the text of the page as printed on A4 paper, without white space and ligatures."""
        answer = self._send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        pages = PdfReader(io.BytesIO(base64.b64decode(answer["data"]))).pages
        text = "".join(page.extract_text() for page in pages)
        return "".join(unicodedata.normalize("NFKC", text).split())

    def picture(self) -> bytes:
        """Return a picture of the window, as PNG."""
        return self._driver.get_screenshot_as_png()

    def _send(self, command: str, **parameters: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._driver.execute_cdp_cmd(command, parameters)
        return answer
