"""The file of rules: what is wrong is told by rule and field."""

from pathlib import Path

import pytest
from unit.provisioner.automation.sample import rules

from tinkwell.core.event.kinds import EventType
from tinkwell.provisioner.automation.rule import description, matching, model
from tinkwell.provisioner.automation.rule import file as rule_file

EXAMPLES = Path(__file__).parents[5] / "examples" / "automation"
ON = "on: {event_type: WORKFLOW_TIMEOUT}"
DO = "do: {command: {argv: [x]}}"
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="


def file(*lines: str) -> str:
    return "name: set\nrules:\n  - name: one\n" + "".join(f"    {line}\n" for line in lines)


# A body that is a few lines here and would be millions of values.
LAUGHS = file(
    ON,
    "do:",
    "  webhook:",
    "    url: http://x",
    "    body:",
    "      - &a0 [x, x, x, x, x, x, x, x, x, x]",
    *(f"      - &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)),
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (file(ON, DO, "colour: red"), "rule one: colour: is no key"),
        (file("on: {event_typ: CREATED}", DO), "rule one: on.event_typ: is no key"),
        (file("on: {event_type: WORKFLOW_TIMEOT}", DO), "rule one: on.event_type.0: "),
        (file("on: {}", DO), "rule one: on: needs a resource_type"),
        (file(DO), "rule one: needs either on or expect"),
        (file(ON, "if: event.x ==", DO), "rule one: if: 'event.x ==' is no CEL expression"),
        (file(ON, "if: evnt.x == 1", DO), "rule one: if: 'evnt.x == 1': Undefined variable"),
        (file(ON, "if: ''", DO), "rule one: if: an expression has 1 to 10,000 bytes"),
        (
            file("expect: {after: {on: {name: a.b}}, event: {on: {name: a.c}, if: 1 +}, within: 1s}", DO),
            "rule one: expect.event.if: '1 +' is no CEL expression",
        ),
        (file(ON, "do: {}"), "rule one: do: needs exactly one of"),
        (file(ON, "do: {workflow: {template: t}, command: {argv: [x]}}"), "rule one: do: needs exactly one of"),
        (file(ON, "do: {command: {argv: x}}"), "rule one: do.command.argv: "),
        (file(ON, "do: {command: {argv: [x], timeout: 5}}"), "rule one: do.command.timeout: must be a number and"),
        (file(ON, "do: {webhook: {}}"), "rule one: do.webhook: needs either url or url_env"),
        (file(ON, "do: {webhook: {url: 'ftp://x'}}"), "rule one: do.webhook.url: must be an http or https URL"),
        (file(ON, "do: {webhook: {url: 'http://u:p@x'}}"), "rule one: do.webhook.url: must be an http or https URL"),
        (file(ON, "do: {webhook: {url: 'http://x', secret_env: NONE}}"), "secret_env: the environment variable NONE"),
        (file(ON, "do: {webhook: {url: 'http://x', secret_env: SHORT}}"), "secret_env: the variable SHORT must hold"),
        (file(ON, "do: {webhook: {url_env: SHORT}}"), "url_env: the variable SHORT must be an http"),
        (file(ON, "do: {webhook: {url: 'http://x', body: ['{{ x']}}"), "rule one: do.webhook.body: '{{ x' has a {{"),
        (file(ON, "do: {webhook: {url: 'http://x', body: ['{{ x }}']}}"), "do.webhook.body: 'x': Undefined variable"),
        (
            file(ON, "do: {webhook: {url: 'http://x', body: {'{{ event.id }}': 1}}}"),
            "do.webhook.body: '{{ event.id }}'",
        ),
        (file(ON, "do: {webhook: {url: 'http://x/{{ event.id }}'}}"), "do.webhook.url: must not have {{ or }}"),
        (file(ON, "do: {webhook: {url_env: HOLED}}"), "url_env: the variable HOLED must not have {{ or }}"),
        (file(ON, "do: {webhook: {url: 'http://x', headers: {X: '{{ event.i'}}}"), "do.webhook.headers.X: "),
        (file(ON, "do: {webhook: {url: 'http://x', headers: {X: '{{ 1 + }}'}}}"), "headers.X: '1 +' is no CEL"),
        (file(ON, "do: {command: {argv: [x, '{{ event.id']}}"), "do.command.argv.1: '{{ event.id' has a {{ or }}"),
        (file(ON, "do: {command: {argv: [x, '{{ junk here }}']}}"), "argv.1: 'junk here' is no CEL expression"),
        (file(ON, "do: {command: {argv: [x, a, '{{ evnt.id }}']}}"), "argv.2: 'evnt.id': Undefined variable"),
        (file(ON, "do: {command: {argv: ['{{ event.id }}', a]}}"), "argv: its first item is the program"),
        (file(ON, "do: {command: {argv: ['']}}"), "argv: its first item is the program"),
        (file(ON, 'do: {command: {argv: [x, "a\\0b"]}}'), "argv: holds the NUL character"),
        (file(ON, "do: {workflow: {template: ''}}"), "do.workflow.template: must be the id or the name"),
        (file(ON, "do: {workflow: {template: '{{ junk'}}"), "do.workflow.template: '{{ junk' has a {{ or }}"),
        (file(ON, "do: {workflow: {template: 'a-{{ evnt }}'}}"), "do.workflow.template: 'evnt': Undefined variable"),
        (file(ON, "do: {workflow: {template: t, devices: {d: '{{ 1 + }}'}}}"), "devices.d: '1 +' is no CEL"),
        (file(ON, "do: {workflow: {template: t, devices: {'{{ event.id }}': x}}}"), "is not filled in"),
        (file("on: {name: 'rack.{{ event.id }}'}", DO), 'on.name.0: "rack.{{ event.id }}" is not an event name'),
        (file("on: {name: [rack.opened, Rack Door]}", DO), 'on.name.1: "Rack Door" is not an event name'),
        (file(ON, "do: {webhook: {url: 'http://x', body: 2026-01-01}}"), "rule one: do.webhook.body: is not what JSON"),
        (LAUGHS, "holds too many values, once its aliases are followed"),
        (file("on: {resource_type: HARDWARE}", "do: {workflow: {template: t}}"), "rule one: do.workflow.devices: "),
        (file("expect: {after: {on: {name: a.b}}, event: {on: {name: a.c}}, within: 0s}", DO), "expect.within: must"),
        (file(ON, DO, f"name: {'x' * 61}"), "is no YAML"),
        ("name: set\nrules: []", "rules: List should have at least 1 item"),
        ("[]", "the file: "),
        ("name: a: b", "is no YAML"),
        (file(ON, DO) + f"  - name: one\n    {ON}\n    {DO}\n", "the name one is given twice"),
        (f"name: set\nrules:\n  - {ON}\n    {DO}\n", "rule number 1: name: Field required"),
    ],
)
def test_what_is_wrong_is_told_by_rule_and_field(text: str, told: str) -> None:
    with pytest.raises(rule_file.RuleError) as caught:
        rules(text, SHORT="whsec_c2hvcnQ=", HOLED="http://x/{{ event.id }}")
    assert told in str(caught.value)
    assert str(caught.value).startswith("rules.yaml: ")


def test_a_secret_is_never_part_of_what_is_told() -> None:
    with pytest.raises(rule_file.RuleError) as caught:
        rules(file(ON, "do: {webhook: {url_env: HOOK}}"), HOOK="hooks.example.com/secret")
    assert "hooks.example.com" not in str(caught.value)
    read = rules(file(ON, "do: {webhook: {url_env: HOOK, secret_env: KEY}}"), HOOK="https://x.org/secret", KEY=SECRET)
    told = "\n".join(description.describe(read))
    assert "https://x.org, signed" in told
    assert "x.org/secret" not in told
    assert SECRET not in told


@pytest.mark.parametrize("name", ["recovery.yaml", "watchdog.yaml"])
def test_the_examples_are_right_without_their_secrets(name: str) -> None:
    assert list(description.describe(rule_file.load(EXAMPLES / name, None)))


def test_the_file_in_the_documentation_is_right() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "how-to" / "automation.md").read_text()
    read = rule_file.parse(page.split("```yaml\n")[1].split("```")[0], None, source="docs")
    assert [each.name for each in read.rules] == ["recover", "tell", "stuck"]


def test_a_file_that_is_not_there_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(rule_file.RuleError, match="cannot be read: No such file"):
        rule_file.load(tmp_path / "none.yaml", {})


def test_a_watch_is_asked_for_no_more_than_all_rules_want() -> None:
    read = rules(file(ON, DO) + f"  - name: two\n    on: {{event_type: [CREATED], name: hardware.created}}\n    {DO}\n")
    wanted = matching.wanted_of(read.patterns)
    assert wanted["event_types"] == [EventType.CREATED, EventType.WORKFLOW_TIMEOUT]
    assert (wanted["names"], wanted["resource_types"]) == ([], [])


def test_devices_may_be_filled_in_from_any_event() -> None:
    read = rules(file("on: {name: hardware.phone_home}", "do: {workflow: {template: t, devices: {d: '{{event.id}}'}}}"))
    action = read.rules[0].action
    assert isinstance(action, model.StartWorkflow)
    assert action.devices is not None
    assert [each.text for each in action.devices["d"].expressions] == ["event.id"]


def test_a_variable_may_hold_what_looks_like_an_expression() -> None:
    read = rules(file(ON, "do: {webhook: {url: 'http://x', headers_env: {X: KEY}}}"), KEY="{{ no")
    action = read.rules[0].action
    assert isinstance(action, model.PostWebhook)
    assert action.headers["X"].text == "{{ no"
