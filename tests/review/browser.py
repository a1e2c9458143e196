"""A real browser for the tests of the page: Debian's chromium, without a window and without a network of its own."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement

from ruleminer.review.server import ReviewServer
from ruleminer.review.session import ReviewSession

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
_PATIENCE = 30.0


@contextmanager
def browsing(width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[WebDriver]:
    """A browser of its own, with a fresh profile."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
    folder = tempfile.mkdtemp(prefix="ruleminer-chromium-")
    options = Options()
    options.binary_location = chromium
    for flag in (*_FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield browser
    finally:
        browser.quit()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def served(session: ReviewSession, port: int = 0) -> Iterator[ReviewServer]:
    """The page of a session, as long as the block lasts."""
    server = ReviewServer(session, port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def until(what: Callable[[], object], told: str = "") -> object:
    """Wait until something is so; an element that was drawn anew is looked for again."""
    end = time.monotonic() + _PATIENCE
    problem: Exception | None = None
    while time.monotonic() < end:
        try:
            found = what()
            if found:
                return found
        except Exception as error:
            problem = error
        time.sleep(0.05)
    raise AssertionError(f"waited in vain{f' for {told}' if told else ''}: {problem}")


def ready(browser: WebDriver) -> None:
    """Wait until the page is drawn and nothing is under way."""

    def is_ready() -> bool:
        classes = (one(browser, "body").get_attribute("class") or "").split()
        return "ready" in classes and "busy" not in classes

    until(is_ready, "the page")


def one(browser: WebDriver, css: str) -> WebElement:
    """The first element of a selector."""
    return browser.find_element("css selector", css)


def text(browser: WebDriver, css: str) -> str:
    """What an element says, hidden or not."""
    return str(one(browser, css).get_attribute("textContent"))


def press(browser: WebDriver, keys: str) -> None:
    """Press keys, wherever the focus is on the page."""
    one(browser, "body").send_keys(keys)


def requested(browser: WebDriver) -> list[str]:
    """The addresses that the page asked for."""
    import json

    found = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return found


def screenshot(browser: WebDriver, folder: Path, name: str) -> None:
    """A picture to look at."""
    folder.mkdir(parents=True, exist_ok=True)
    browser.execute_async_script(
        "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
    )  # what scrolled is drawn
    browser.save_screenshot(str(folder / f"{name}.png"))
