# SPDX-License-Identifier: MIT
"""Says what kind of file this one is, with magika."""

from __future__ import annotations

import json

from magika import Magika

result = Magika().identify_path(__file__)
print(json.dumps({"label": str(result.output.label), "score": result.score}))
