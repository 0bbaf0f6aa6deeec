"""What the fields of a task and of an action may say."""

import pytest

from tinkwell.core import errors
from tinkwell.core.template import template

TASK = """\
version: "0.1"
name: n
tasks:
  - name: t
    worker: "{{.d}}"
    actions:
      - name: a
        image: i
"""
# The line that each test adds.
LINE = 9


def violation_of(text: str) -> errors.Violation:
    with pytest.raises(errors.InvalidField) as refused:
        template.parse_template(text)
    (violation,) = refused.value.violations
    return violation


def action_with(line: str) -> template.Action:
    return template.parse_template(f"{TASK}        {line}\n").tasks[0].actions[0]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("60", 60), ("0", 0), ("~", 0), ("", 0), ("+5", 5), ("0x10", 16), ("0o17", 15), ("31536000", 31_536_000)],
)
def test_a_timeout_is_a_whole_number_of_seconds(written: str, seconds: int) -> None:
    assert action_with(f"timeout: {written}").timeout_seconds == seconds


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("timeout: 60", (0, 5, False)),
        ("retries: 3", (3, 5, False)),
        ("retries: 100\n        retry-delay: 86400", (100, 86_400, False)),
        ("retries: 0\n        retry-delay: 0", (0, 0, False)),
        ("retries: ~\n        retry-delay:\n        reboot: null", (0, 5, False)),
        ("timeout: 600\n        reboot: true", (0, 5, True)),
        ("reboot: false", (0, 5, False)),
    ],
)
def test_an_action_may_be_repeated_and_may_reboot_its_machine(lines: str, expected: tuple[int, int, bool]) -> None:
    action = action_with(lines)
    assert (action.retries, action.retry_delay_seconds, action.reboots) == expected


def test_null_is_an_empty_text_and_an_empty_list() -> None:
    assert action_with("command: [~, null, a]").command == ("", "", "a")
    assert action_with("volumes: null").volumes == ()
    assert action_with("environment: {A: ~, B: null, C: 'null', D: }").environment == ("A=", "B=", "C=null", "D=")
    assert action_with("pid:").pid == ""


def test_texts_keep_their_source() -> None:
    line = "environment: {A: true, B: yes, C: 0644, D: 1.50, E: 12:30:45, F: 1e3, G: .inf, H: 2026-01-01}"
    assert action_with(line).environment == (
        *("A=true", "B=yes", "C=0644", "D=1.50", "E=12:30:45", "F=1e3", "G=.inf", "H=2026-01-01"),
    )


@pytest.mark.parametrize("volume", ["/a", "/a:/b", "data:/b", "/a:/b:ro", "/a:/b:ro,z", "./a:/b"])
def test_a_volume_is_a_host_path_with_a_place_and_options(volume: str) -> None:
    assert action_with(f"volumes: ['{volume}']").volumes == (volume,)


FIRST = "data.tasks[0].actions[0]"
MAX = "31,536,000"


@pytest.mark.parametrize(
    ("line", "field", "column", "problem"),
    [
        ('timeout: "60"', ".timeout", 18, "is text; write it without quotes: 60"),
        ("timeout: !!str 60", ".timeout", 18, "write it without quotes"),
        ("timeout: 1.5", ".timeout", 18, f'"1.5" is not a whole number of seconds from 0 to {MAX}'),
        ("timeout: -1", ".timeout", 18, f"is -1; it must be from 0 to {MAX}"),
        ("timeout: 31536001", ".timeout", 18, "is 31,536,001; it must be from 0"),
        ("timeout: " + "9" * 5_000, ".timeout", 18, "not a whole number"),
        ("timeout: 010", ".timeout", 18, "without leading zeros"),
        ("timeout: 1_000", ".timeout", 18, "not a whole number"),
        ("timeout: 1e3", ".timeout", 18, "not a whole number"),
        ("timeout: 60s", ".timeout", 18, "not a whole number"),
        ("timeout: ''", ".timeout", 18, "not a whole number"),
        ("timeout: [60]", ".timeout", 18, "must be a number of seconds and is a list"),
        ('retries: "3"', ".retries", 18, "is text; write it without quotes: 3"),
        ("retries: 101", ".retries", 18, "is 101; it must be from 0 to 100"),
        ("retries: -1", ".retries", 18, "is -1; it must be from 0 to 100"),
        ("retries: many", ".retries", 18, '"many" is not a whole number from 0 to 100'),
        ("retries: [3]", ".retries", 18, "must be a number and is a list"),
        ("retry-delay: 86401", ".retry-delay", 22, "is 86,401; it must be from 0 to 86,400 seconds"),
        ("retry-delay: 5s", ".retry-delay", 22, '"5s" is not a whole number of seconds from 0 to 86,400'),
        ("retry_delay: 5", ".retry_delay", 9, "the key is not known; did you mean retry-delay?"),
        ("retry: 5", ".retry", 9, "the key is not known; did you mean"),
        ("reboot: yes", ".reboot", 17, 'must be true or false and is the text "yes"'),
        ("reboot: True", ".reboot", 17, "must be true or false"),
        ("reboot: 'true'", ".reboot", 17, "is text; write it without quotes: true"),
        ("reboot: [true]", ".reboot", 17, "must be true or false and is a list"),
        ("reboot: true", ".reboot", 17, "needs a timeout beside it"),
        ("reboot: true\n        timeout: 0", ".reboot", 17, "needs a timeout beside it"),
        ("pid: container:x", ".pid", 14, 'is "container:x"; it must be host, or left out'),
        ("pid: [host]", ".pid", 14, "must be text and is a list"),
        ("command: foo", ".command", 18, 'must be a list, such as ["a", "b"], and is the text "foo"'),
        ("command: [a: b]", ".command[0]", 19, "must be text and is a mapping"),
        ("command: [{{.x}]", "", 0, 'unexpected "}" in an action'),
        ('command: ["a\\0"]', "", 19, "cannot be stored"),
        ('command: ["\\uFDD00\\uFDD1 {{.x}}"]', "", 19, "an escape makes a character that is reserved"),
        ('command: ["\\uFDD00\\uFDD1"]', "", 19, "an escape makes a character that is reserved"),
        ("command: &{{.x}} [a]", "", 18, "the name of an anchor cannot come from a value"),
        ("command: *{{.x}}", "", 18, "the name of an anchor cannot come from a value"),
        ("command: !{{.x}} [a]", "", 19, "not YAML"),
        ("on-timeout: foo", ".on-timeout", 21, "must be a list"),
        ("on-failure: {a: b}", ".on-failure", 21, "must be a list"),
        ("on_failure: [a]", ".on_failure", 9, "the key is not known; did you mean on-failure?"),
        ("Image: i", ".Image", 9, "did you mean image?"),
        ("zzz: i", ".zzz", 9, "known are name, image, timeout, command"),
        ("{{.key}}: x", '["{{.key}}"]', 9, "it cannot come from a value"),
        ("environment: [A=b]", ".environment", 22, "must be a mapping, such as {KEY: text}, and is a list"),
        ("environment: {A: [b]}", ".environment.A", 26, "must be text and is a list"),
        ("environment: {1A: b}", ".environment.1A", 23, "is not the name of a variable"),
        ('environment: {"A=B": c}', '.environment["A=B"]', 23, "is not the name of a variable"),
        ('environment: {"": c}', '.environment[""]', 23, "is not the name of a variable"),
        (f"environment: {{{'A' * 200}: c}}", f'.environment["{"A" * 60}…"]', 23, "at most 199"),
        ("volumes: /a:/b", ".volumes", 18, "must be a list"),
        ("volumes: ['']", ".volumes[0]", 19, "is not a volume"),
        ("volumes: [~]", ".volumes[0]", 19, "is not a volume"),
        ("volumes: [/a:/b, ':/b']", ".volumes[1]", 26, "write it as host:container:options"),
        ("volumes: ['/a:']", ".volumes[0]", 19, "must begin with /"),
        ("volumes: [/a:b]", ".volumes[0]", 19, "must begin with /"),
        ("volumes: ['/a:/b:']", ".volumes[0]", 19, "words joined by commas"),
        ("volumes: [/a:/b:/c]", ".volumes[0]", 19, "words joined by commas"),
        ("volumes: [/a:/b:ro:x]", ".volumes[0]", 19, "write it as host:container:options"),
    ],
)
def test_a_wrong_field_of_an_action_is_told(line: str, field: str, column: int, problem: str) -> None:
    violation = violation_of(f"{TASK}        {line}\n")
    assert violation.field == (FIRST + field if field else "data")
    assert violation.description.startswith(f"line {LINE}, column {column or ''}")
    assert problem in violation.description
    assert len(violation.description) < 300


@pytest.mark.parametrize(
    ("written", "instead", "field", "place", "problem"),
    [
        ("name: t", "name: ''", "data.tasks[0].name", "line 4, column 11", "must not be empty"),
        ("name: a", "name:", f"{FIRST}.name", "line 7, column 9", "must not be empty"),
        ("name: a", f"name: {'a' * 200}", f"{FIRST}.name", "line 7, column 15", "at most 199"),
        ("name: a", 'name: "\\x1b"', f"{FIRST}.name", "line 7, column 15", "control character"),
        ("image: i", "image: A", f"{FIRST}.image", "line 8, column 16", '"A" is not an image'),
        ("        image: i\n", "", f"{FIRST}.image", "line 7, column 9", "is not an image: it is empty"),
        ('"{{.d}}"', "[a]", "data.tasks[0].worker", "line 5, column 13", "must be text and is a list"),
    ],
)
def test_a_wrong_name_image_or_worker_is_told(written: str, instead: str, field: str, place: str, problem: str) -> None:
    violation = violation_of(TASK.replace(written, instead))
    assert violation.field == field
    assert violation.description.startswith(place)
    assert problem in violation.description


@pytest.mark.parametrize(
    ("line", "field", "problem"),
    [
        ("global_timeout: 1.5", "data.global_timeout", "line 9, column 17"),
        ("on-failure: [a, b]", "data.on-failure", "line 9, column 13: must be text and is a list"),
        ("on-failure: two words", "data.on-failure", 'line 9, column 13: "two words" is not a name'),
        ("on-timeout: {a: b}", "data.on-timeout", "line 9, column 13: must be text and is a mapping"),
        ("on_timeout: a", "data.on_timeout", "line 9, column 1: the key is not known; did you mean on-timeout?"),
        ("retries: 3", "data.retries", "line 9, column 1: the key is not known"),
        ("    retries: 3", "data.tasks[0].retries", "line 9, column 5: the key is not known"),
        ("    volumes: [x:y]", "data.tasks[0].volumes[0]", "line 9, column 15"),
        ("    environment: {'a b': c}", 'data.tasks[0].environment["a b"]', "line 9, column 19"),
    ],
)
def test_a_wrong_field_of_a_task_or_of_the_template_is_told(line: str, field: str, problem: str) -> None:
    violation = violation_of(TASK + line)
    assert violation.field == field
    assert violation.description.startswith(problem)


@pytest.mark.parametrize(
    "line",
    [
        "timeout: {{.t}}",
        "pid: '{{.p}}'",
        "volumes: ['{{.v}}', '/dev/{{.v}}:/dev/{{.v}}']",
        "environment: {'{{.k}}': x, K_{{.k}}: '{{.v}}'}",
        "command: [{{.x}}, '{{.y}}']",
        "retries: {{.r}}",
        "retry-delay: '{{.r}}'",
        "reboot: {{.r}}",
        "timeout: {{.t}}\n        reboot: true",
    ],
)
def test_what_depends_on_values_is_checked_when_they_are_known(line: str) -> None:
    assert action_with(line).name == "a"


def test_an_image_that_depends_on_values_keeps_its_source() -> None:
    parsed = template.parse_template(TASK.replace("image: i", "image: 'registry/{{.i}}'"))
    assert parsed.tasks[0].actions[0].image == "registry/{{.i}}"


def test_a_template_may_name_those_that_recover_it() -> None:
    parsed = template.parse_template(TASK + "on-timeout: rescue\non-failure: '{{.repair}}'\n")
    assert (parsed.on_timeout, parsed.on_failure) == ("rescue", "{{.repair}}")
    empty = template.parse_template(TASK + "on-timeout: ~\non-failure: ''\n")
    assert (empty.on_timeout, empty.on_failure) == ("", "")
