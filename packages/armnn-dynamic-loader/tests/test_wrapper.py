# SPDX-License-Identifier: MIT
"""A wrapped Python backend answers as the backend itself does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from armnn import CreationOptions, DataLayout, Network, Runtime, TensorInfo
from armnn.backends.native import NativeBackend
from armnn_backend_api import get_include
from armnn_dynamic_loader.files import read_note
from armnn_dynamic_loader.lint import lint_file
from armnn_dynamic_loader.probe import try_out
from armnn_dynamic_loader.wrapper import python_backend_source


def network() -> Network:
    net = Network("small")
    x = net.add_input("x", TensorInfo((1, 8, 8, 4)))
    weights = np.random.default_rng(1).normal(size=(6, 3, 3, 4)).astype(np.float32)
    y = net.add_convolution2d(x, weights, data_layout=DataLayout.NHWC)
    net.add_output("y", net.add_softmax(net.add_activation(y)))
    return net


def test_its_note_names_the_class(reference: Path) -> None:
    note = read_note(str(reference))
    assert note is not None
    assert note.facts == {
        "id": "CpuRef",
        "api": "1.0",
        "version": "1.0",
        "python": "armnn_backend_ref.backend:RefBackend",
    }


def test_it_needs_neither_headers_nor_library_of_python(reference: Path) -> None:
    assert "Python.h" not in Path(python_backend_source()).read_text()
    problems = lint_file(str(reference))
    assert not [problem for problem in problems if "glibc" not in problem]


def test_it_is_tried_out_in_full(reference: Path) -> None:
    outcome = try_out([str(reference)], 60.0)[str(reference)]
    assert (outcome.id, outcome.stage, outcome.reason) == ("CpuRef", "", "")
    assert not outcome.depends_on_machine


def test_it_computes_what_the_class_computes(reference: Path) -> None:
    x = np.random.default_rng(2).normal(size=(1, 8, 8, 4)).astype(np.float32)
    with Runtime() as static:
        expected = static.load_model(network(), backends=["CpuRef"]).run({"x": x})["y"]
    options = CreationOptions(
        dynamic_backends_path=str(reference.parent), enable_static_backends=False
    )
    with Runtime(options) as dynamic:
        model = dynamic.load_model(network(), backends=["CpuRef"], strict=True)
        assert isinstance(dynamic.registry.get("CpuRef"), NativeBackend)
        np.testing.assert_array_equal(model.run({"x": x})["y"], expected)


def test_a_class_that_is_not_there_is_told(
    build: Callable[..., Path], compiled: Callable[..., Path]
) -> None:
    wrapped = compiled(
        '-DBACKEND_ID="Gone"',
        '-DBACKEND_CLASS="nowhere.at_all:Backend"',
        source=Path(python_backend_source()),
    )
    path = build("Acme_Gone_backend.so")
    path.write_bytes(wrapped.read_bytes())
    outcome = try_out([str(path)], 60.0)[str(path)]
    # Like a missing device: installing the package mends it, so it is no verdict on the file.
    assert (outcome.id, outcome.reason, outcome.depends_on_machine) == ("Gone", "", True)


def test_the_path_of_the_source_is_printed_for_the_compiler() -> None:
    command = [sys.executable, "-m", "armnn_dynamic_loader", "--python-backend"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert ran.stdout == f"{python_backend_source()}\n"
    assert Path(python_backend_source()).read_text().startswith("/* SPDX-License-Identifier: MIT")


def test_a_host_that_is_not_python_gets_a_clean_error(tmp_path: Path, reference: Path) -> None:
    host = tmp_path / "host.c"
    host.write_text(
        """
        #include <armnn/backend.h>
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int argc, char **argv) {
          (void)argc;
          void *library = dlopen(argv[1], RTLD_NOW);
          void *(*factory)(void) = (void *(*)(void))dlsym(library, "BackendFactory");
          const armnn_backend_api *api = factory();
          armnn_host host = {.header = ARMNN_HEADER(ARMNN_HOST)};
          armnn_error error = {.header = ARMNN_HEADER(ARMNN_ERROR), .node_id = -1};
          armnn_backend *backend = NULL;
          armnn_code code = api->create(&host, NULL, 0, &backend, &error);
          printf("%d %d %s", code, backend == NULL, error.message.data);
          return 0;
        }
        """
    )
    program = tmp_path / "host"
    subprocess.run(
        ["gcc", "-std=gnu11", f"-I{get_include()}", "-o", program, host, "-ldl"], check=True
    )
    ran = subprocess.run([program, reference], stdout=subprocess.PIPE, text=True, check=True)
    assert ran.stdout == (
        "14 1 backend CpuRef is the Python class armnn_backend_ref.backend:RefBackend, and this "
        "host is not written in Python"
    )
