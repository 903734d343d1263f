# SPDX-License-Identifier: MIT
"""Protocol Buffers' wire format and ONNX's messages in it.

Nothing here needs the packages ``onnx`` and ``protobuf``. A message is decoded on first use; large
data of tensors stays in the file.
"""
