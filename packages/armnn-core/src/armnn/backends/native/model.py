# SPDX-License-Identifier: MIT
"""What a native backend knows of one network: the user's options, as C reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from armnn.backends.base import ModelContext
from armnn.backends.native.devices import spelling_of
from armnn_backend_api import ctypes_mirror as abi

if TYPE_CHECKING:
    from armnn.backends.base import OptionValue
    from armnn.backends.native.devices import NativeDevice
    from armnn_backend_api.structs import Arena

DEVICE_OPTION: Final = "Device"
"""The option that selects a device by its id; the host reads it, the backend does not get it."""


class NativeModelContext(ModelContext):
    """The options of one network for a native backend.

    Attributes:
        device: The device that the user selected; None for the backend's first.
    """

    def __init__(
        self, options: Mapping[str, OptionValue], device: NativeDevice | None = None
    ) -> None:
        super().__init__(options)
        self.device = device


def option_array(options: Mapping[str, OptionValue], arena: Arena) -> Any:
    """Return options as ``armnn_option[]``, in the order in which they were given."""
    return arena.filled(
        abi.Option,
        (
            abi.Option(arena.text(key), arena.text(spelling_of(value)))
            for key, value in options.items()
        ),
    )
