# SPDX-License-Identifier: MIT
"""Loggers that import the standard module late."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING

from armnn._logging import Logger

if TYPE_CHECKING:
    import pytest


def test_messages_reach_the_logger_of_the_name(caplog: pytest.LogCaptureFixture) -> None:
    log = Logger("armnn.of_this_test")
    with caplog.at_level(logging.DEBUG, "armnn.of_this_test"):
        assert log.level == logging.DEBUG
        log.debug("one %d", 1)
        log.info("two")
        log.warning("three %s", "words")
        log.error("four", exc_info=ValueError("wrong"))
        log.log(logging.CRITICAL, "five")
    assert [(each.levelname, each.getMessage(), each.filename) for each in caplog.records] == [
        ("DEBUG", "one 1", "test_logging.py"),
        ("INFO", "two", "test_logging.py"),
        ("WARNING", "three words", "test_logging.py"),
        ("ERROR", "four", "test_logging.py"),
        ("CRITICAL", "five", "test_logging.py"),
    ]
    assert caplog.records[3].exc_info is not None
    assert Logger("armnn.of_this_test.inside").level == logging.getLogger().getEffectiveLevel()


def test_only_warnings_import_the_standard_module() -> None:
    code = """if True:
        import sys
        from armnn._logging import Logger

        log = Logger("armnn.of_this_test")
        log.debug("nothing shows it")
        log.info("nothing shows it")
        assert log.level == 30
        log.log(20, "nothing shows it")
        assert "logging" not in sys.modules
        log.warning("%d is shown", 5)
        """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr == "5 is shown\n"
