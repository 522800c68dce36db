"""The report page in a real browser: it loads, it says nothing in the console, it asks for nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from clusterctl.model.report import report_of
from clusterctl.rendering.report_page import report_page
from rendering.test_report_page import Page, deployed

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr", "--dump-dom",
)  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None and not os.environ.get("CI"), reason="there is no Chromium on PATH"),
]


class Site(BaseHTTPRequestHandler):
    """One page, and a list of what was asked for."""

    page = ""
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.page.encode())

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def served(page: str) -> Iterator[tuple[str, list[str]]]:
    """The page on loopback: its address, and what the browser asks for."""
    site = type("OneSite", (Site,), {"page": page, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/report.html", site.asked
        finally:
            server.shutdown()
            thread.join()


def visited(folder: Path, url: str) -> tuple[str, str]:
    """The page as it is once loaded, and what the browser logged."""
    assert BROWSER, "CI has Chromium"
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr


def test_the_page_loads_quietly_and_shows_the_numbers_of_the_json(tmp_path: Path) -> None:
    run = deployed()
    with served(report_page(report_of(run))) as (url, asked):
        dom, said = visited(tmp_path, url)
    found = Page(dom)
    assert json.loads(found.texts["id=run"]) == run
    assert found.text("data-figure=gpus") == "7"
    assert "CONSOLE" not in said
    assert asked == ["/report.html"]


def test_a_page_that_asked_for_more_would_not_be_quiet(tmp_path: Path) -> None:
    page = report_page(report_of(deployed())).replace("</main>", '<img src="/elsewhere.png" alt=""></main>')
    with served(page) as (url, asked):
        _, said = visited(tmp_path, url)
    assert "Content Security Policy" in said
    assert asked == ["/report.html"]
