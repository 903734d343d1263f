# SPDX-License-Identifier: MIT
"""Options of a model: fast math, and the file of programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import armnn
from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.errors import InvalidArgumentError
from armnn.profiling import Recorder
from armnn.storage.blobs import Blobs
from armnn_backend_cl.device import open_device
from armnn_backend_cl.options import GpuAccModel

X = np.linspace(-3, 3, 40, dtype=np.float32).reshape(2, 20)


def network() -> Network:
    net = Network("small")
    x = net.add_input("x", TensorInfo(X.shape))
    y = net.add_transpose(net.add_activation(x, function="Sigmoid"), dim_mappings=(1, 0))
    net.add_output("y", net.add_elementwise_unary(y, operation="Log"))
    return net


def run(**options: Any) -> np.ndarray:
    model = armnn.load_model(network(), backends=["GpuAcc"], backend_options={"GpuAcc": options})
    return model.run({"x": X})["y"]


class Built:
    """Counts programs that are built from source, with a device that knows none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.options: list[tuple[str, ...]] = []
        self._monkeypatch, self._program = monkeypatch, cl.Program
        monkeypatch.setattr(cl, "Program", self._made)
        self.forget()

    def forget(self) -> None:
        self._monkeypatch.setattr(open_device(), "_programs", {})
        self.options.clear()

    def _made(self, context: Any, *given: Any) -> Any:
        program = self._program(context, *given)
        if len(given) == 1:
            build = program.build

            def counted(options: tuple[str, ...]) -> Any:
                self.options.append(tuple(options))
                return build(options)

            program.build = counted
        return program


def test_fast_math_is_asked_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    built = Built(monkeypatch)
    exact = run()
    assert built.options
    assert not any("-cl-unsafe-math-optimizations" in options for options in built.options)
    built.options.clear()
    fast = run(FastMathEnabled=True)
    assert built.options
    assert all("-cl-unsafe-math-optimizations" in options for options in built.options)
    np.testing.assert_allclose(fast, exact, rtol=1e-4)


def test_a_file_has_the_programs_of_a_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run()  # the device has the programs already when the file is written
    path = tmp_path / "small.bin"
    built = Built(monkeypatch)
    run(SaveCachedNetwork=True, CachedNetworkFilePath=str(path))
    whole = path.read_bytes()
    built.forget()
    made = run(CachedNetworkFilePath=str(path))
    assert built.options == []
    built.forget()
    path.write_bytes(whole[:-1])  # the last entry was not written whole
    np.testing.assert_array_equal(run(CachedNetworkFilePath=str(path)), made)
    assert len(built.options) == 1


def test_programs_are_not_kept_where_there_is_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    model = GpuAccModel({})
    model.blobs = Blobs("GpuAcc", tmp_path)
    assert model.programs is model.blobs
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    model.blobs = Blobs("GpuAcc")
    assert model.programs is None


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        (None, 0, "cannot read CachedNetworkFilePath .*: No such file or directory; SaveCached"),
        (b"GpuAcc programs 1\n", 0o622, "can be written by others, and drivers run what it holds"),
        (b"\x7fELF", 0o600, "begins with b'.x7fELF': expected a file that SaveCachedNetwork wrote"),
    ],
)
def test_a_file_that_is_none_is_refused(
    tmp_path: Path, content: bytes | None, mode: int, words: str
) -> None:
    path = tmp_path / "programs"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    with pytest.raises(InvalidArgumentError, match=words):
        run(CachedNetworkFilePath=str(path))


@pytest.mark.parametrize("is_saved", [False, True])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, is_saved: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    others = {pipe: "is a pipe: exp", Path(os.devnull): "a device: exp", tmp_path: "a folder|a dir"}
    for path, words in others.items():
        with pytest.raises(InvalidArgumentError, match=words):
            run(CachedNetworkFilePath=str(path), SaveCachedNetwork=is_saved)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"FastMathEnabled": "yes"}, "FastMathEnabled of backend 'GpuAcc' is 'yes': expected true"),
        (
            {"SaveCachedNetwork": True},
            "SaveCachedNetwork of backend 'GpuAcc' needs CachedNetworkFi",
        ),
        ({"Device": 0}, "option 'Device' of a model, as it is one of a runtime .*: expected FastM"),
        (
            {"Fast": True},
            "does not know the option 'Fast' of a model: expected FastMathEnabled or S",
        ),
        ({"CachedNetworkFilePath": "a\0b"}, "'a.x00b': expected a path, which has no NUL char"),
        ({"CachedFileDescriptor": 3}, "of a model, as name the file: CachedNetworkFilePath"),
    ],
)
def test_wrong_options_are_told(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        run(**options)


@pytest.mark.parametrize("has_times", [True, False])
def test_kernels_are_in_profiles_unless_told_otherwise(has_times: bool) -> None:
    options = CreationOptions(backend_options={"GpuAcc": {"KernelProfilingEnabled": has_times}})
    with Runtime(options) as runtime:
        model = runtime.load_model(network(), backends=["GpuAcc"])
        recorder = Recorder()
        model.run({"x": X}, profiler=recorder)
        kinds = {event.details["category"] for event in recorder.events}
    assert ("device" in kinds) is has_times
