# SPDX-License-Identifier: MIT
"""Other runtimes that are not known or not installed.

What they compute is compared where their models are: in the tests of the parsers.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

import pytest

from armnn.debugging.runtimes import RUNTIMES, run_elsewhere
from armnn.errors import InvalidArgumentError, NotInstalledError

if TYPE_CHECKING:
    from armnn.runtime import LoadedNetwork

UNUSED = cast("LoadedNetwork", None)


@pytest.mark.parametrize("name", list(RUNTIMES))
def test_one_that_is_not_installed_is_named_with_a_remedy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix, module, distribution, _ = RUNTIMES[name]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NotInstalledError, match=f"^{name} is not .* pip install {distribution}$"):
        run_elsewhere(name, f"m{suffix}", UNUSED, {})


def test_one_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="is 'torch': expected one of onnxruntime, lite"):
        run_elsewhere("torch", "m.onnx", UNUSED, {})
    with pytest.raises(InvalidArgumentError, match=r"litert cannot run 'm\.onnx': expected a file"):
        run_elsewhere("litert", "m.onnx", UNUSED, {})
