# SPDX-License-Identifier: MIT
"""Pages that several blocks of a file have are in it once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from armnn.storage import pages
from armnn.storage.folder import PAGE, mapped_file, pack, unpack
from armnn.storage.pages import joined, with_shared_pages

WEIGHTS = np.random.default_rng(1).bytes(2 << 20)
FIRST, SECOND = b"1" * PAGE, b"2" * PAGE


@pytest.mark.parametrize("is_mapped", [True, False])
@pytest.mark.parametrize("piece", [PAGE, 1000, 1 << 19])
def test_blocks_are_what_they_were(
    piece: int, is_mapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [
        FIRST + WEIGHTS,
        SECOND * 3 + WEIGHTS[: 1 << 20] + SECOND + WEIGHTS[1 << 20 :] + b"end",
        b"small",
        FIRST + WEIGHTS,
        WEIGHTS[: 1 << 20] + b"another",
    ]
    given = [[block[at : at + piece] for at in range(0, len(block), piece)] for block in blocks]
    held, layout = with_shared_pages(given)
    assert sum(len(part) for block in held for part in block) < len(WEIGHTS) + 12 * PAGE
    file = tmp_path / "file"
    file.write_bytes(b"".join(pack({}, held)))
    if not is_mapped:  # as where the pages of the system are larger
        monkeypatch.setattr(pages.mmap, "PAGESIZE", 1 << 24)
    with file.open("rb") as opened:
        data = mapped_file(opened)
        found = joined(opened, data, unpack(data)[1], layout)
    assert [bytes(each) for each in found] == blocks
