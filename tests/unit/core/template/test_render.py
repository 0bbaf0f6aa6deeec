"""Rendering: what comes out for given devices, and what is wrong with devices that do not fit."""

import pytest
import ruamel.yaml

from tinkwell.core import errors
from tinkwell.core.template import template
from tinkwell.core.value import document

TEMPLATE = """\
version: "0.1"
name: two_machines
global_timeout: 600
tasks:
  - name: first
    worker: "{{.device_1}}"
    volumes: [/dev:/dev, /data:/data:ro]
    environment: {MIRROR: 192.168.56.4, LEVEL: task}
    actions:
      - name: one
        image: quay.io/x/one:{{.tag}}
        timeout: {{.seconds}}
        volumes: [/data:/other, /extra:/extra]
        environment: {LEVEL: action, ANSWER: {{.n}}}
        command: ["sh", "-c", {{printf "%q" .script}}]
      - name: two
        image: two
  - name: second
    worker: {{.rack.device}}
    actions:
      - {name: one, image: one, pid: host, on-timeout: [a], on-failure: [b, ""]}
"""
DEVICES = document.parse_json_object(
    "hardware",
    """{"device_1": "52:54:00:10:00:03", "rack": {"device": "192.168.56.43"}, "tag": "v1", "seconds": 60,
        "n": 1000000, "script": "echo \\"a: b\\"\\nexit 0"}""",
)


def violations_of(text: str, devices: document.JsonObject) -> list[tuple[str, str]]:
    with pytest.raises(errors.InvalidField) as refused:
        template.render(text, devices)
    return [(violation.field, violation.description) for violation in refused.value.violations]


def test_all_actions_come_in_order_with_what_their_task_gives_them() -> None:
    rendered = template.render(TEMPLATE, DEVICES)
    assert [(action.task_name, action.name, action.worker) for action in rendered.actions] == [
        ("first", "one", "52:54:00:10:00:03"),
        ("first", "two", "52:54:00:10:00:03"),
        ("second", "one", "192.168.56.43"),
    ]
    first, second, third = rendered.actions
    assert (first.image, first.timeout_seconds) == ("quay.io/x/one:v1", 60)
    assert first.command == ("sh", "-c", 'echo "a: b"\nexit 0')
    assert first.environment == ("ANSWER=1000000", "LEVEL=action", "MIRROR=192.168.56.4")
    assert first.volumes == ("/dev:/dev", "/data:/other", "/extra:/extra")
    assert second.environment == ("LEVEL=task", "MIRROR=192.168.56.4")
    assert second.volumes == ("/dev:/dev", "/data:/data:ro")
    assert (third.pid, third.on_timeout, third.on_failure) == ("host", ("a",), ("b", ""))
    assert (third.environment, third.volumes) == ((), ())


def test_the_model_keeps_what_each_task_and_action_says_itself() -> None:
    rendered = template.render(TEMPLATE, DEVICES)
    task = rendered.template.tasks[0]
    assert rendered.template.global_timeout_seconds == 600
    assert task.environment == ("LEVEL=task", "MIRROR=192.168.56.4")
    assert task.actions[0].environment == ("ANSWER=1000000", "LEVEL=action")
    assert task.actions[1].volumes == ()


def test_the_text_is_readable_yaml_that_says_the_same() -> None:
    rendered = template.render(TEMPLATE, DEVICES)
    assert rendered.text == (
        """\
version: "0.1"
name: two_machines
global_timeout: 600
tasks:
  - name: first
    worker: "52:54:00:10:00:03"
    volumes:
      - /dev:/dev
      - /data:/data:ro
    environment:
      LEVEL: task
      MIRROR: "192.168.56.4"
    actions:
      - name: one
        image: quay.io/x/one:v1
        timeout: 60
        command:
          - sh
          - "-c"
          - |-
            echo "a: b"
            exit 0
        volumes:
          - /data:/other
          - /extra:/extra
        environment:
          ANSWER: "1000000"
          LEVEL: action
      - name: two
        image: two
  - name: second
    worker: "192.168.56.43"
    actions:
      - name: one
        image: one
        pid: host
        on-timeout:
          - a
        on-failure:
          - b
          - ""
"""
    )
    assert template.parse_template(rendered.text) == rendered.template


def test_rendering_a_rendered_text_again_changes_nothing() -> None:
    rendered = template.render(TEMPLATE, DEVICES)
    assert template.render(rendered.text, {}) == rendered


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ('"text"', "text"),
        ("1000000", "1000000"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.5", "1.5"),
        ("1.10", "1.10"),
        ("0.1000000000000000055", "0.1000000000000000055"),
        ("1e21", "1000000000000000000000"),
        ("true", "true"),
        ('""', ""),
        ('"null"', "null"),
        ('"~"', "~"),
        ('"<<"', "<<"),
        ('"a: b #c"', "a: b #c"),
        ('" padded "', " padded "),
        ('"*alias &anchor !tag"', "*alias &anchor !tag"),
        ('"{{.x}} \ufdd00\ufdd1"', "{{.x}} \ufdd00\ufdd1"),
    ],
)
@pytest.mark.parametrize("quotes", ["", '"', "'"])
def test_a_value_is_the_same_text_however_it_is_quoted(value: str, printed: str, quotes: str) -> None:
    text = TEMPLATE.replace('"sh", "-c", {{printf "%q" .script}}', f"{quotes}{{{{.x}}}}{quotes}")
    devices = DEVICES | document.parse_json_object("hardware", f'{{"x": {value}}}')
    assert template.render(text, devices).actions[0].command == (printed,)


@pytest.mark.parametrize(
    ("value", "field", "place", "problem"),
    [
        ("null", "hardware.x", "line 15, column 19 of the template", "{{.x}}: the value is null"),
        ('["a", "b"]', "hardware.x", "line 15, column 19 of the template", "{{.x}}: the value is a list"),
        ('{"e": "x"}', "hardware.x", "line 15, column 19 of the template", "{{.x}}: the value is an object"),
        ('"a\\u0000"', "hardware.x", "", "NUL"),
    ],
)
def test_a_value_that_is_no_text_is_refused_by_its_name(value: str, field: str, place: str, problem: str) -> None:
    text = TEMPLATE.replace('["sh", "-c", {{printf "%q" .script}}]', "[{{.x}}]")
    with pytest.raises(errors.InvalidField) as refused:
        template.render(text, DEVICES | document.parse_json_object("hardware", f'{{"x": {value}}}'))
    (violation,) = refused.value.violations
    assert violation.field == field
    assert violation.description.startswith(place)
    assert problem in violation.description


@pytest.mark.parametrize(
    ("changes", "field", "description"),
    [
        ({"tag": "v 1"}, "data.tasks[0].actions[0].image", 'line 11, column 16: "quay.io/x/one:v 1" is not an image'),
        ({"seconds": -1}, "data.tasks[0].actions[0].timeout", "line 12, column 18: is -1; it must be from 0"),
        ({"seconds": "1h"}, "data.tasks[0].actions[0].timeout", 'line 12, column 18: "1h" is not a whole number'),
        ({"device_1": ""}, "data.tasks[0].worker", "line 6, column 13: must not be empty; name the machine"),
        ({"rack": {"device": ""}}, "data.tasks[1].worker", "line 19, column 13: must not be empty"),
        ({"rack": {}}, "hardware.rack.device", 'line 19, column 15 of the template: map has no entry for key "device"'),
        ({"rack": "x"}, "hardware.rack", "line 19, column 15 of the template: .rack is a string and has no entry"),
        ({"script": "a\ud800"}, "data", "line 15, column 31: the text holds the character"),
        ({"script": "x" * 1_048_576}, "data", "line 15, column 33: printf is given too much; it takes at most"),
        ({"tag": "x" * 1_048_576}, "data", "line 11, column 30: the output is too large; it has at most"),
    ],
)
def test_values_that_do_not_fit_are_refused_with_their_place(
    changes: document.JsonObject, field: str, description: str
) -> None:
    ((found_field, found),) = violations_of(TEMPLATE, DEVICES | changes)
    assert found_field == field
    assert found.startswith(description)


def test_values_may_say_how_an_action_is_repeated_and_what_recovers_it() -> None:
    text = TEMPLATE.replace('on-failure: [b, ""]', "timeout: 9, retries: {{.n}}, retry-delay: {{.n}}, reboot: {{.b}}")
    text += "on-failure: {{.recovery}}\n"
    rendered = template.render(text, DEVICES | {"n": 3, "b": "true", "recovery": "repair"})
    action = rendered.actions[-1]
    assert (action.retries, action.retry_delay_seconds, action.reboots) == (3, 3, True)
    assert rendered.template.on_failure == "repair"
    lines = rendered.text.splitlines()
    assert [line.strip() for line in lines[-3:]] == ["retries: 3", "retry-delay: 3", "reboot: true"]
    assert "on-failure: repair" in lines
    place = "data.tasks[1].actions[0]"
    for changes, field, problem in (
        ({"n": 101}, f"{place}.retries", "is 101; it must be from 0 to 100"),
        ({"b": "maybe"}, f"{place}.reboot", 'must be true or false and is the text "maybe"'),
        ({"recovery": "a b"}, "data.on-failure", '"a b" is not a name'),
    ):
        values = DEVICES | {"n": 3, "b": "true", "recovery": "repair"} | changes
        ((found, description),) = violations_of(text, values)
        assert (found, description.partition(": ")[2][: len(problem)]) == (field, problem)


def test_a_missing_key_is_refused_by_its_name() -> None:
    place, problem = "line 6, column 16 of the template", 'map has no entry for key "device_1"'
    assert violations_of(TEMPLATE, {}) == [
        ("hardware.device_1", f"{place}: {problem}; give it a value when the workflow is created")
    ]
    with pytest.raises(errors.InvalidField) as refused:
        template.render(TEMPLATE, {}, devices_field="devices")
    assert refused.value.violations[0].field == "devices.device_1"


def test_a_worker_is_needed_once_the_values_are_known() -> None:
    text = TEMPLATE.replace('    worker: "{{.device_1}}"\n', "")
    assert template.parse_template(text).tasks[0].worker == ""
    assert violations_of(text, DEVICES) == [
        ("data.tasks[0].worker", "line 5, column 5: must not be empty; name the machine, such as {{.device_1}}")
    ]


def test_actions_can_be_written_in_a_loop() -> None:
    text = """\
version: "0.1"
name: loop
tasks:
{{- range $index, $device := .devices}}
  - name: task-{{$index}}
    worker: {{$device.mac}}
    actions:
      - name: only
        image: {{if eq $device.arch "aarch64"}}arm{{else}}amd{{end}}
        {{- with $device.timeout}}
        timeout: {{.}}
        {{- end}}
{{- end}}
"""
    devices = document.parse_json_object(
        "hardware",
        '{"devices": [{"mac": "a", "arch": "aarch64", "timeout": 5}, {"mac": "b", "arch": "", "timeout": 0}]}',
    )
    template.parse_template(text)
    found = [(a.task_name, a.worker, a.image, a.timeout_seconds) for a in template.render(text, devices).actions]
    assert found == [("task-0", "a", "arm", 5), ("task-1", "b", "amd", 0)]
    ((field, description),) = violations_of(text, {"devices": []})
    assert (field, description) == ("data.tasks", "line 3, column 1: there must be at least one task")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ('[{{printf "%q" .x}}]', 'say "hi"'),
        ('[{{.x | printf "%q"}}]', 'say "hi"'),
        ("['{{printf \"%q\" .x}}']", '"say \\"hi\\""'),
        ('[echo {{printf "%q" .x}}]', 'echo "say \\"hi\\""'),
        ('[{{printf "%q " .x}}]', '"say \\"hi\\"" '),
    ],
)
def test_quotes_meant_for_yaml_are_not_a_part_of_the_value(command: str, expected: str) -> None:
    text = TEMPLATE.replace('["sh", "-c", {{printf "%q" .script}}]', command)
    assert template.render(text, DEVICES | {"x": 'say "hi"'}).actions[0].command == (expected,)


def test_merged_and_repeated_parts_are_written_out() -> None:
    text = """\
version: "0.1"
name: anchors
tasks:
  - name: t
    worker: w
    actions:
      - &base {name: a, image: i, environment: &env {X: "{{.x}}"}}
      - {<<: *base, name: b, environment: {<<: *env, Y: "1"}}
"""
    rendered = template.render(text, {"x": "v"})
    assert [action.environment for action in rendered.actions] == [("X=v",), ("X=v", "Y=1")]
    loaded = ruamel.yaml.YAML(typ="safe", pure=True).load(rendered.text)
    assert loaded["tasks"][0]["actions"][1] == {"name": "b", "image": "i", "environment": {"X": "v", "Y": "1"}}


def test_the_rendered_text_is_bounded() -> None:
    lines = "".join(f"      - {{<<: *base, name: a{number}}}\n" for number in range(30))
    text = (
        'version: "0.1"\nname: n\ntasks:\n  - name: t\n    worker: w\n    actions:\n'
        f"      - &base {{name: a, image: i, command: [{chr(34)}{chr(92)}x01{chr(34)}, {'x' * 30_000}]}}\n{lines}"
    )
    assert len(template.render(text, {}).actions) == 31
    ((field, description),) = violations_of(text.replace("x" * 30_000, "\\" * 60_000), {})
    assert (field, description) == ("data", "has more than 2,097,152 bytes when it is rendered")


def test_a_large_template_is_rendered_whole() -> None:
    script = "".join(f"            line {number} of a long script\n" for number in range(25_000))
    text = TEMPLATE.replace("{LEVEL: action, ANSWER: {{.n}}}", f"\n          SCRIPT: |\n{script}")
    assert len(text) > 900_000
    (script_variable,) = template.render(text, DEVICES).actions[0].environment[2:3] or ("",)
    assert script_variable.startswith("SCRIPT=line 0 of")
    assert script_variable.endswith("line 24999 of a long script\n")
