"""Log lines."""

import logging

from tinkwell.provisioner import logging_setup


def test_fields_stand_behind_the_message() -> None:
    record = logging.makeLogRecord(
        {"msg": "an action begins", "levelname": "INFO", "action": "a-1", "cause": "not here", "seconds": 1.25, "x": ""}
    )
    line = logging_setup.Formatter().format(record)
    assert line.endswith("INFO    an action begins action=a-1 cause='not here' seconds=1.2 x=''")
