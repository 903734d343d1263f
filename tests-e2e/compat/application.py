# SPDX-License-Identifier: MIT
"""A fixed application: it prints the backend of last-of-equals.

It asks for the last of two equal elements. The command line may name other backends.
"""

import sys

import numpy as np

import armnn

BACKENDS = sys.argv[1:] or ["Compat", "CpuRef"]
EQUALS = np.array([3, 7, 7, 1], np.float32)

network = armnn.Network("last of equals")
x = network.add_input("x", armnn.TensorInfo(EQUALS.shape))
place = network.add_arg_min_max(
    x, function=armnn.ArgMinMaxFunction.MAX, select_last_index=True, output=armnn.DataType.SIGNED64
)
network.add_output("place", place)
with armnn.Runtime() as runtime:
    loaded = runtime.load_network(runtime.optimize(network, backends=BACKENDS))
    (row,) = (row for row in loaded.report.rows if row.type == "ArgMinMax")
    print(row.backend, loaded.run({"x": EQUALS})["place"])
