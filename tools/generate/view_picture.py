# SPDX-License-Identifier: MIT
"""Writes docs/view.png, a page of ``armnn view`` in Chromium.

    python -m tools.generate.view_picture CHROMIUM

It needs what report_picture.py needs, and Playwright. Browsers and fonts draw differently, so no
test compares the picture; tests-e2e/browser drives such pages.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tools import ROOT
from tools.generate.report_picture import BACKENDS, prepare, run_in_terminal
from tools.models.fetch import default_cache, fetch

PICTURE = ROOT / "docs" / "view.png"
WIDTH, HEIGHT = 1200, 800
LAYER = "DepthwiseConvolution2d Conv.1 on CpuAcc"  # as the first backend refuses it
COMMAND = f"""\
armnn run model.onnx --input x=page.png {BACKENDS} --profile trace.json &&
armnn view model.onnx {BACKENDS} --profile trace.json"""


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        prepare(folder, fetch("page_orientation", default_cache()))
        run_in_terminal(COMMAND, folder)
        browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto((folder / "model.html").as_uri())
        page.select_option("#colour", "backend")
        page.get_by_label(LAYER, exact=True).click()
        picture = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    picture.convert("RGB").quantize(64).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
