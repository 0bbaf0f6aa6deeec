"""Commands: what they are given of an event."""

from pathlib import Path

import pytest
from unit.provisioner.automation.sample import event, rules

from tinkwell.provisioner.automation.effect import attempt, program
from tinkwell.provisioner.automation.rule import evaluation, model

RULE = """
name: set
rules:
  - name: one
    on: {event_type: WORKFLOW_TIMEOUT}
    do:
      command:
        argv: [/bin/sh, -c, 'printf "%s\\n" "$@" > FILE', sh, ARGUMENTS]
"""


async def run(file: Path, arguments: str, **data: object) -> attempt.Attempt:
    """Run it once, with these arguments behind those that write the others to a file."""
    read = rules(RULE.replace("FILE", str(file)).replace("ARGUMENTS", arguments))
    action = read.rules[0].action
    assert isinstance(action, model.RunCommand)
    async with evaluation.Evaluator() as evaluator:
        effect = model.Effect(rule_set="set", rule=read.rules[0], event=event(7, data=data))
        return await program.Program(action, evaluator).attempt(effect)


async def test_arguments_are_filled_in_and_each_stays_one(tmp_path: Path) -> None:
    arguments = "\"{{ event.resource_id }}\", 'say: {{ event.data.name }}', '{{ event.data }}', plain"
    tried = await run(tmp_path / "kept", arguments, name="$(id) 'a' \"b\" {{ c }}")
    assert tried.outcome is attempt.Outcome.DONE
    assert (tmp_path / "kept").read_text().splitlines() == [
        "one",
        "say: $(id) 'a' \"b\" {{ c }}",
        '{"name": "$(id) \'a\' \\"b\\" {{ c }}"}',
        "plain",
    ]


async def test_braces_can_be_written(tmp_path: Path) -> None:
    await run(tmp_path / "kept", "\"{{ '{{' }}.Names{{ '}' + '}' }}\"")
    assert (tmp_path / "kept").read_text() == "{{.Names}}\n"


@pytest.mark.parametrize("text", ["{{ event.data.none }}", "{{ event.data.name }}"])
async def test_what_no_argument_can_be_is_hopeless_and_nothing_runs(tmp_path: Path, text: str) -> None:
    tried = await run(tmp_path / "kept", f"'{text}'", name="a\0b")
    assert tried.outcome is attempt.Outcome.HOPELESS
    assert not (tmp_path / "kept").exists()
