# SPDX-License-Identifier: MIT
"""A headless Chromium, and pages to open in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from armnn import ActivationFunction, Network, TensorInfo
from armnn.parsing.exporting import save
from armnn_tools.cli.main import main

HOSTILE = "<img src=x onerror='window.hit=1'></script><script>window.hit=1</script>"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium, else playwright's."""
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a file in a page.

    No page may log, fail or load anything.
    """
    pages: list[Page] = []
    troubles: list[str] = []
    loaded: list[str] = []

    def open_file(path: Path, *, dark: bool = False, width: int = 1300) -> Page:
        page = browser.new_page(
            viewport={"width": width, "height": 850}, color_scheme="dark" if dark else "light"
        )
        pages.append(page)
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_file
    own = [page.url for page in pages]
    hits = [page.evaluate("window.hit === undefined") for page in pages]
    for page in pages:
        page.close()
    assert troubles == []
    assert [url for url in loaded if url not in own] == []
    assert all(hits)


def saved(folder: Path, layers: int, name: str = "chain") -> Path:
    """Write a model of additions, products and activations, with branches.

    Args:
        folder: Where to write it.
        layers: How many there are.
        name: Of the network.
    """
    network = Network(name)
    values = [network.add_input("x", TensorInfo((1, 8)))]
    for number in range(layers):
        value = values[-1]
        if number % 5 == 1:
            value = network.add_activation(
                value, function=ActivationFunction.TANH, name=f"act{number}"
            )
        elif number % 7 == 3:
            value = network.add_addition(value, values[-3], name=f"{name}{number}")
        else:
            value = network.add_multiplication(value, value, name=f"mul{number}")
        values.append(value)
    network.add_output("y", values[-1])
    path = folder / "model.armnn"
    save(network, path)
    return path


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of two parts and a layer between."""
    folder = tmp_path_factory.mktemp("small")
    model, trace, html = saved(folder, 12, HOSTILE), folder / "trace.json", folder / "small.html"
    given = [str(model), "--backends", "CpuAcc,CpuRef", "--layer-backend", "act6=CpuRef"]
    assert main(["run", *given, "--input", "x=random", "--profile", str(trace)]) == 0
    assert main(["view", *given, "--profile", str(trace), "-o", str(html)]) == 0
    return html


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    """Return the page of a comparison with one wrong layer."""
    verdict = {"kind": "wrong values", "ratio": 9.0, "largest": 0.5, "unit": "steps", "note": ""}
    verdicts = [
        {**verdict, "layers": [name], "wrong": name == "act6"} for name in ("mul0", "act6", "mul7")
    ]
    found, html = tmp_path / "found.json", tmp_path / "compared.html"
    found.write_text(json.dumps({"verdicts": verdicts}))
    given = [str(saved(tmp_path, 12)), "--backends", "CpuAcc,CpuRef"]
    assert main(["view", *given, "--compare", str(found), "-o", str(html)]) == 0
    return html


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of 500 layers."""
    folder = tmp_path_factory.mktemp("large")
    html = folder / "large.html"
    model = str(saved(folder, 500))
    assert main(["view", model, "--backends", "CpuAcc,CpuRef", "-o", str(html)]) == 0
    return html
