"""What keeps an effect from being done again."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from unit.provisioner.automation.sample import event, rules

from tinkwell.client import errors
from tinkwell.provisioner.automation.effect import attempt, delivery_log, redelivery
from tinkwell.provisioner.automation.rule import model

TEXT = """
name: set
rules:
  - name: one
    on: {event_type: WORKFLOW_TIMEOUT}
    do: {command: {argv: ["/bin/true"]}}
"""
RULES = rules(TEXT)
EFFECT = model.Effect(rule_set="set", rule=RULES.rules[0], event=event(7))


class Server:
    """A server whose log has that one event at every revision, or ends a watch with an error."""

    def __init__(self, answer: Any) -> None:
        self.events = SimpleNamespace(watch=self._watch)
        self.workflows = None
        self._answer = answer

    @contextlib.asynccontextmanager
    async def _watch(self, *, from_revision: int, reconnect: bool) -> AsyncIterator[AsyncIterator[Any]]:
        assert (from_revision, reconnect) == (7, False)
        if isinstance(self._answer, Exception):
            raise self._answer
        yield _one(self._answer)


async def _one(found: Any) -> AsyncIterator[Any]:
    yield found


@pytest.mark.parametrize(
    ("answer", "text", "reason"),
    [
        (errors.Compacted(), TEXT, "the server no longer has the event"),
        (event(8), TEXT, "the server no longer has the event"),
        (event(7), TEXT.replace("one", "other"), "there is no rule one any more"),
    ],
    ids=["forgotten", "of another log", "rule"],
)
async def test_what_is_not_there_any_more_is_told_and_nothing_is_done(
    tmp_path: Path, answer: Any, text: str, reason: str
) -> None:
    await delivery_log.DeliveryLog(tmp_path, "set").write(
        EFFECT, attempt.hopeless("no"), number=1, seconds=0.1, again_in=None
    )
    server: Any = Server(answer)
    with pytest.raises(redelivery.RedeliveryError, match=reason):
        _ = [each async for each in redelivery.redeliver(server, rules(text), tmp_path, [EFFECT.key])]
    assert delivery_log.latest(tmp_path, "set")[EFFECT.key].attempt == 1


async def test_what_is_there_is_done_and_counted(tmp_path: Path) -> None:
    await delivery_log.DeliveryLog(tmp_path, "set").write(
        EFFECT, attempt.hopeless("no"), number=1, seconds=0.1, again_in=None
    )
    server: Any = Server(EFFECT.event)
    tried = [each async for each in redelivery.redeliver(server, RULES, tmp_path, [EFFECT.key])]
    assert [(key, each.outcome) for key, each in tried] == [(EFFECT.key, attempt.Outcome.DONE)]
    assert delivery_log.latest(tmp_path, "set")[EFFECT.key].attempt == 2
