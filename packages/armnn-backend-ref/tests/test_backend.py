# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.backends import Backend, ModelContext
from armnn.errors import InvalidArgumentError
from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn_backend_api import BACKEND_API_VERSION, is_compatible
from armnn_backend_ref.backend import RefBackend
from armnn_backend_ref.workload import RefWorkload


def test_cpuref_is_a_backend_that_this_core_can_use() -> None:
    backend = RefBackend()
    assert isinstance(backend, Backend)
    assert backend.id == "CpuRef"
    assert is_compatible(backend.api_version, BACKEND_API_VERSION)


def test_cpuref_works_in_host_memory() -> None:
    assert RefBackend().handle_factory_preferences == ()
    assert RefBackend().create_memory_manager() is None


def test_cpuref_takes_no_options() -> None:
    with pytest.raises(InvalidArgumentError, match="'CpuRef' has no options: got Threads"):
        RefBackend().create_model_context({"Threads": 2})


def test_a_supported_layer_gets_a_workload() -> None:
    network = Network("test")
    layer = network.add("Softmax", [network.add_input("x", TensorInfo((1, 2)))])
    backend, model = RefBackend(), ModelContext({})
    assert backend.supports(layer, model)
    assert isinstance(backend.create_workload(layer, model), RefWorkload)


def test_a_layer_that_is_not_supported_gets_a_reason() -> None:
    network = Network("test")
    layer = network.add("Softmax", [network.add_constant(np.array([1], np.int32))])
    support = RefBackend().supports(layer, ModelContext({}))
    assert not support
    assert support.reason.startswith("Softmax on CpuRef: the input 'input' is Signed32, expected")
