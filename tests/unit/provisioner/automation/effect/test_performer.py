"""How often an effect is tried, and what is written down about it."""

import json
import logging
from pathlib import Path

import pytest
from unit.provisioner.automation.sample import event, rules

from tinkwell.provisioner.automation.effect import attempt, delivery_log, performer
from tinkwell.provisioner.automation.rule import model

RULES = rules(
    """
name: set
rules:
  - name: one
    on: {event_type: WORKFLOW_TIMEOUT}
    do: {webhook: {url: "https://hooks.example.com/secret", attempts: 3}}
"""
)
EFFECT = model.Effect(rule_set="set", rule=RULES.rules[0], event=event(7))


class Script:
    """Ends tries as it is told."""

    def __init__(self, *tries: attempt.Attempt) -> None:
        self.tries = list(tries)

    async def attempt(self, effect: model.Effect) -> attempt.Attempt:
        return self.tries.pop(0)

    async def close(self) -> None: ...


async def perform(directory: Path, script: Script) -> tuple[list[float], list[dict[str, object]]]:
    """Do an effect; gives the pauses, and the lines of the log."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    log = delivery_log.DeliveryLog(directory, "set")
    worker = performer.Performer({"one": script}, log, RULES, sleep=sleep)
    await worker.perform(EFFECT)
    assert script.tries == []
    counted = worker.tallies["one"]
    assert (counted.fired, counted.done + counted.failed, counted.pending) == (1, 1, 0)
    return pauses, [json.loads(line) for line in (directory / "set.jsonl").read_text().splitlines()]


async def test_a_failed_one_is_tried_again_after_what_was_asked_for(tmp_path: Path) -> None:
    script = Script(attempt.failed("HTTP 503", not_before_seconds=9), attempt.failed("no"), attempt.done("HTTP 204"))
    pauses, lines = await perform(tmp_path, script)
    assert pauses[0] == 9
    assert 0 <= pauses[1] <= 2 * performer.FIRST_PAUSE_SECONDS
    assert [(line["attempt"], line["outcome"], line["given_up"]) for line in lines] == [
        (1, "FAILED", False),
        (2, "FAILED", False),
        (3, "DONE", False),
    ]
    assert {line["key"] for line in lines} == {EFFECT.key}
    assert delivery_log.latest(tmp_path, "set")[EFFECT.key].attempt == 3
    assert {line["target"] for line in lines} == {"https://hooks.example.com"}


@pytest.mark.parametrize("tries", [[attempt.failed("no")] * 3, [attempt.hopeless("HTTP 400")]])
async def test_it_ends_with_the_last_try_that_may_be(tmp_path: Path, tries: list[attempt.Attempt]) -> None:
    _, lines = await perform(tmp_path, Script(*tries))
    assert [line["given_up"] for line in lines] == [False] * (len(tries) - 1) + [True]


async def test_the_delivery_log_keeps_to_its_size(tmp_path: Path) -> None:
    log = delivery_log.DeliveryLog(tmp_path, "set", max_bytes=2_000)
    for number in range(1, 31):
        await log.write(EFFECT, attempt.done("HTTP 204"), number=number, seconds=0.1, again_in=None)
    newest, older = ((tmp_path / name).read_text() for name in ("set.jsonl", "set.1.jsonl"))
    numbers = [json.loads(line)["attempt"] for line in (older + newest).splitlines()]
    assert numbers == list(range(numbers[0], 31))
    assert max(len(newest), len(older)) <= 2_000


async def test_the_delivery_log_has_what_the_log_of_the_process_tells(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written: list[bool] = []

    def look(record: logging.LogRecord) -> bool:
        written.append((tmp_path / "set.jsonl").exists())
        return True

    caplog.set_level(logging.INFO)
    caplog.handler.addFilter(look)
    log = delivery_log.DeliveryLog(tmp_path, "set")
    await log.write(EFFECT, attempt.done("HTTP 204"), number=1, seconds=0.1, again_in=None)
    assert written == [True]


async def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    log = delivery_log.DeliveryLog(blocked / "below", "set")
    await log.write(EFFECT, attempt.done("HTTP 204"), number=1, seconds=0.1, again_in=None)
    assert "the delivery log cannot be written" in caplog.text
