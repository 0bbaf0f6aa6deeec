"""Expressions of rules are compiled and evaluated in the test's own process: to start a child for each takes long."""

import pytest

from support.same_process import same_process
from tinkwell.provisioner.automation.rule import evaluation


@pytest.fixture(autouse=True)
def _same_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "open_child", lambda: same_process(evaluation.MODULE))
