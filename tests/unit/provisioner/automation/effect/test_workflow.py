"""Workflows that rules start: by which template, and for which machines."""

from collections.abc import Mapping
from typing import Any

import pytest
from unit.provisioner.automation.sample import event, rules

from tinkwell.client.value.change import Created
from tinkwell.provisioner.automation.effect import attempt, workflow
from tinkwell.provisioner.automation.rule import evaluation, model

RULE = """
name: set
rules:
  - name: one
    on: {event_type: WORKFLOW_TIMEOUT}
    do:
      workflow: {template: 'TEMPLATE', devices: {device_1: '{{ event.data.machine }}', device_2: plain}}
"""


class Api:
    """Notes what is started."""

    def __init__(self) -> None:
        self.started: list[tuple[str, object]] = []

    async def create(
        self,
        template: str,
        devices: Mapping[str, str] | str,
        *,
        id: str | None = None,  # noqa: A002
    ) -> Created:
        self.started.append((template, devices))
        return Created(id=id or "", revision=1)

    async def get(self, id: str) -> Any:  # noqa: A002
        raise AssertionError(id)


async def start(template: str) -> tuple[Api, attempt.Attempt]:
    read = rules(RULE.replace("TEMPLATE", template))
    action = read.rules[0].action
    assert isinstance(action, model.StartWorkflow)
    api, data = Api(), {"kind": "edge", "machine": "52:54:00:10:00:03"}
    effect = model.Effect(rule_set="set", rule=read.rules[0], event=event(7, data=data))
    async with evaluation.Evaluator() as evaluator:
        return api, await workflow.Starter(action, api, evaluator).attempt(effect)


@pytest.mark.parametrize(
    ("template", "started"),
    [("recovery", "recovery"), ("recovery-{{ event.data.kind }}", "recovery-edge"), ("{{ event.data.kind }}", "edge")],
)
async def test_template_and_devices_are_filled_in(template: str, started: str) -> None:
    api, tried = await start(template)
    assert tried.outcome is attempt.Outcome.DONE
    assert api.started == [(started, {"device_1": "52:54:00:10:00:03", "device_2": "plain"})]


async def test_a_template_that_cannot_be_filled_in_is_hopeless() -> None:
    api, tried = await start("{{ event.data.none }}")
    assert tried.outcome is attempt.Outcome.HOPELESS
    assert api.started == []
