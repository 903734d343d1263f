# SPDX-License-Identifier: MIT
"""The HTML of a document: escapes, policy, bundled library."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tomllib
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from armnn import Network
from armnn.optimizer import Report
from armnn_tools.viewing import described, page

FOLDER = files("armnn_tools.viewing")


class Elements(HTMLParser):
    """Collects elements, and the texts of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.contents: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        if self.tags:
            self.contents.append((self.tags[-1], data))


@pytest.fixture
def text(prepared: tuple[Network, Report]) -> str:
    return page(described(*prepared))


def test_a_hostile_name_makes_no_element_and_no_script(text: str) -> None:
    found = Elements(text)
    plain = Elements(page(described(Network("plain"), Report())))
    assert found.tags == plain.tags
    assert "img" not in found.tags
    assert found.tags.count("script") == 4
    assert "window.hit" not in re.sub(
        r'<script id="document".*?</script>|<title>.*?</title>', "", text
    )
    assert not any(name.startswith("on") for name, _ in found.attributes)


def test_the_document_survives_its_escapes(text: str, prepared: tuple[Network, Report]) -> None:
    inside = text.split('<script id="document" type="application/json">')[1].split("</script>")[0]
    assert not set(inside) & set("<>&\u2028\u2029\x1b")
    assert json.loads(inside) == described(*prepared)


def test_a_trace_is_inside_for_the_link_to_perfetto(prepared: tuple[Network, Report]) -> None:
    hostile = {"traceEvents": [{"name": "</script><script>window.hit=1</script>"}]}
    trace = {"file": "trace.json", "content": hostile}
    text = page(described(*prepared), trace)
    assert Elements(text).tags == Elements(page(described(*prepared))).tags
    inside = text.split('<script id="trace" type="application/json">')[1].split("</script>")[0]
    assert json.loads(inside) == trace


def test_the_policy_admits_our_scripts_and_no_connection(text: str) -> None:
    found = Elements(text)
    policy = dict(found.attributes)["content"]
    (policy,) = [value for name, value in found.attributes if "default-src" in value]
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; ")
    assert "unsafe" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(scripts) == 2
    for each in (*scripts, style):
        digest = base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_nothing_is_loaded(text: str) -> None:
    found = Elements(text)
    assert "link" not in found.tags
    assert [value for name, value in found.attributes if name in ("src", "href")] == [
        "https://ui.perfetto.dev"
    ]
    assert "@import" not in text
    assert "url(" not in text
    assert "sourceMappingURL" not in text
    assert len(text) < 200_000


def test_our_script_makes_no_markup_of_texts() -> None:
    script = FOLDER.joinpath("assets", "view.js").read_text(encoding="utf-8")
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "fetch(",
    ):
        assert way not in script


def test_the_bundled_library_is_the_one_that_is_recorded() -> None:
    (row,) = tomllib.loads(FOLDER.joinpath("bundled.toml").read_text(encoding="utf-8"))["library"]
    content = FOLDER.joinpath(row["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == row["sha256"]
    assert row["version"].encode() in content
    license = FOLDER.joinpath("assets", "dagre.LICENSE").read_text(encoding="utf-8")
    assert "Permission is hereby granted, free of charge" in license
