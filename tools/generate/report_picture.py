# SPDX-License-Identifier: MIT
"""Writes docs/report.svg, a report as a terminal shows it.

    python -m tools.generate.report_picture           # runs the command and writes the picture
    python -m tools.generate.report_picture --check   # fails if it prints something else now

The command runs in a pseudo-terminal, in an environment with CpuAcc and the dynamic loader, and
needs gcc. Times and the last digits of figures differ from run to run; --check leaves them out, and
is called by a test of tests-e2e, as ``nox -s lint`` has no backends.
"""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tools import ROOT
from tools.models.fetch import default_cache, fetch

PICTURE = ROOT / "docs" / "report.svg"
COLUMNS = 104
BACKENDS = "--dynamic-backends-path $PWD/acme --backends AcmeNpu,CpuAcc,CpuRef"
COMMAND = f"armnn run model.onnx --input x=page.png --report \\\n    {BACKENDS}"
LEFT_OUT = ("Input ",)  # the line about the picture
BLACK, WHITE = (22, 27, 34), (230, 237, 243)
RED, GREEN, YELLOW = (255, 123, 114), (63, 185, 80), (227, 179, 65)
BLUE, MAGENTA, CYAN = (121, 192, 255), (210, 168, 255), (86, 212, 221)
THEME = TerminalTheme(BLACK, WHITE, [BLACK, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, WHITE])
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<!-- written by tools/generate/report_picture.py from a run in a terminal -->
<style>
.{unique_id}-matrix {{
font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
font-size: {char_height}px;
line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def run_in_terminal(command: str, folder: Path) -> str:
    """Return what a shell command writes to a terminal.

    Raises:
        RuntimeError: The command failed.
    """
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = {**os.environ, "TERM": "xterm", "COLUMNS": str(COLUMNS), "PATH": path}
    variables.pop("NO_COLOR", None)
    with subprocess.Popen(
        ["sh", "-c", command], cwd=folder, env=variables, stdout=child, stderr=child
    ) as process:
        os.close(child)
        written = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:  # the last process with the terminal has ended
                break
            if not piece:
                break
            written += piece
    os.close(parent)
    text = written.decode().replace("\r\n", "\n")
    if process.returncode:
        raise RuntimeError(f"the command returned {process.returncode}: {text}")
    return text


def prepare(folder: Path, model: Path) -> None:
    """Put model, picture and backend into a folder.

    Args:
        folder: Where the command runs.
        model: The classifier of pages.
    """
    (folder / "model.onnx").symlink_to(model)
    (folder / "page.png").symlink_to(ROOT / "examples" / "page_turned_90.png")
    script = ROOT / "examples" / "promises" / "build_npu.sh"
    run_in_terminal(f"sh {script} acme_npu.c acme", folder)


def recorded(model: Path) -> str:
    """Return the command and its output, with escape sequences.

    Args:
        model: The classifier of pages.
    """
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), model)
        output = run_in_terminal(COMMAND, Path(name))
    kept = [line for line in output.splitlines() if not line.startswith(LEFT_OUT)]
    return "\n".join([f"\x1b[1m$ {COMMAND}\x1b[0m", *kept])


def drawn(text: str) -> str:
    """Return the picture of a terminal that shows a text."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), legacy_windows=False)
    console.print(Text.from_ansi(text))
    title = "a backend from a dropped file and CpuAcc share a model"
    return console.export_svg(title=title, theme=THEME, code_format=SVG, unique_id="report")


def lines_of(picture: str) -> list[str]:
    """Return the lines of a picture without what varies."""
    found: dict[int, str] = {}
    for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):
        line = re.search(r"line-(\d+)", element.get("clip-path", ""))
        if line is not None:
            found[int(line[1])] = found.get(int(line[1]), "") + (element.text or "")
    return [_without_figures(line) for line in found.values() if line.strip(" \u2500\xa0")]


def _without_figures(line: str) -> str:
    return " ".join(re.sub(r"\d+\.\d+", "#", line).split())


def main() -> int:
    """Write the picture, or say whether it is stale."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    is_check = parser.parse_args().check
    picture = drawn(recorded(fetch("page_orientation", default_cache())))
    if not is_check:
        PICTURE.write_text(picture, encoding="utf-8")
        return 0
    if lines_of(picture) == lines_of(PICTURE.read_text(encoding="utf-8")):
        return 0
    print(f"{PICTURE.name} shows other lines: run python -m tools.generate.report_picture")
    return 1


if __name__ == "__main__":
    sys.exit(main())
