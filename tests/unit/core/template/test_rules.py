"""What a template must say as a whole, before its values are known: structure, names, anchors, control structures."""

import pytest

from tinkwell.core import errors
from tinkwell.core.template import template

SAMPLE = """\
version: "0.1"
name: ubuntu_focal
global_timeout: 1800
tasks:
  - name: "os-installation"
    worker: "{{.device_1}}"
    volumes:
      - /dev:/dev
      - /lib/firmware:/lib/firmware:ro
    environment:
      MIRROR_HOST: 192.168.56.4
    actions:
      - name: "stream-image"
        image: quay.io/tinkerbell-actions/image2disk:v1.0.0
        timeout: 600
        environment: {DEST_DISK: /dev/sda, IMG_URL: "http://192.168.56.4:8080/focal.raw.gz", COMPRESSED: true}
      - name: "kexec"
        image: quay.io/tinkerbell-actions/kexec:v1.0.0
        timeout: 90
        pid: host
        command: [kexec, -e]
        on-timeout: ["/bin/sh", "-c", "echo slow"]
        on-failure: ["/bin/sh", "-c", "echo failed"]
"""
HEAD = 'version: "0.1"\nname: n\ntasks:\n'
TASK = HEAD + '  - name: t\n    worker: "{{.d}}"\n    actions:\n'
ACTION = TASK + "      - name: a\n        image: i\n"


def violations_of(text: str) -> list[tuple[str, str]]:
    with pytest.raises(errors.InvalidField) as refused:
        template.parse_template(text)
    return [(violation.field, violation.description) for violation in refused.value.violations]


def test_a_template_is_read_whole() -> None:
    parsed = template.parse_template(SAMPLE)
    (task,) = parsed.tasks
    assert (parsed.name, parsed.version, parsed.global_timeout_seconds) == ("ubuntu_focal", "0.1", 1800)
    assert (task.name, task.worker) == ("os-installation", "{{.device_1}}")
    assert task.volumes == ("/dev:/dev", "/lib/firmware:/lib/firmware:ro")
    assert task.environment == ("MIRROR_HOST=192.168.56.4",)
    assert task.actions[0].environment == (
        "COMPRESSED=true",
        "DEST_DISK=/dev/sda",
        "IMG_URL=http://192.168.56.4:8080/focal.raw.gz",
    )
    assert task.actions[1] == template.Action(
        task_name="os-installation",
        name="kexec",
        image="quay.io/tinkerbell-actions/kexec:v1.0.0",
        timeout_seconds=90,
        command=("kexec", "-e"),
        volumes=(),
        environment=(),
        pid="host",
        on_timeout=("/bin/sh", "-c", "echo slow"),
        on_failure=("/bin/sh", "-c", "echo failed"),
        worker="{{.device_1}}",
    )


@pytest.mark.parametrize(
    ("written", "instead", "name"),
    [
        ('"0.1"', "0.1", "ubuntu_focal"),
        ("ubuntu_focal", "12", "12"),
        ("ubuntu_focal", "1.50", "1.50"),
        ("ubuntu_focal", "yes", "yes"),
        ("ubuntu_focal", "n" * 199, "n" * 199),
        ("ubuntu_focal", "two words", "two words"),
        ("version:", "id: 7\nversion:", "ubuntu_focal"),
        ("version:", "---\nversion:", "ubuntu_focal"),
        ("\n", "\r\n", "ubuntu_focal"),
        ('"kexec"', '"write the image / now"', "ubuntu_focal"),
        ('    worker: "{{.device_1}}"\n', "", "ubuntu_focal"),
    ],
)
def test_what_is_a_template_elsewhere_is_a_template_here(written: str, instead: str, name: str) -> None:
    assert template.parse_template(SAMPLE.replace(written, instead)).name == name


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        ('"{{.device_1}}"', "{{.device_1}}"),
        ("{{.device_1}}", "{{.device_1}}"),
        ("'{{ .device_1 }}'", "{{ .device_1 }}"),
        ('"{{- .device_1 -}}"', "{{- .device_1 -}}"),
        ('"{{ index . "device-1" }}"', '{{ index . "device-1" }}'),
        ("{{index . `device-1`}}", "{{index . `device-1`}}"),
        ("{{.rack}}-{{.number}}", "{{.rack}}-{{.number}}"),
    ],
)
def test_a_worker_may_be_quoted_or_not(worker: str, expected: str) -> None:
    text = SAMPLE.replace('"{{.device_1}}"', worker)
    assert template.parse_template(text).tasks[0].worker == expected


@pytest.mark.parametrize(
    ("text", "field", "place", "problem"),
    [
        ("", "data", "line 1, column 1", "must have keys (version, name,"),
        ("null", "data", "line 1, column 1", "must have keys"),
        ("[]", "data", "line 1, column 1", "is a list"),
        ("text", "data", "line 1, column 1", 'is the text "text"'),
        (SAMPLE.replace("ubuntu_focal", ""), "data.name", "line 2, column 1", "must not be empty"),
        (SAMPLE.replace("ubuntu_focal", "~"), "data.name", "line 2, column 1", "must not be empty"),
        (SAMPLE.replace("ubuntu_focal", "''"), "data.name", "line 2, column 7", "must not be empty"),
        (SAMPLE.replace("name: ubuntu_focal\n", ""), "data.name", "line 1, column 1", "must not be empty"),
        (SAMPLE.replace("ubuntu_focal", "n" * 200), "data.name", "line 2, column 7", "has 200 bytes; at most 199"),
        (SAMPLE.replace("ubuntu_focal", "é" * 100), "data.name", "line 2, column 7", "has 200 bytes; at most 199"),
        (SAMPLE.replace("ubuntu_focal", "[n]"), "data.name", "line 2, column 7", "must be text and is a list"),
        (SAMPLE.replace("ubuntu_focal", '"a\\nb"'), "data.name", "line 2, column 7", "control character"),
        (SAMPLE.replace('"0.1"', '"0.2"'), "data.version", "line 1, column 10", 'is "0.2"; it must be "0.1"'),
        (SAMPLE.replace('"0.1"', "0.10"), "data.version", "line 1, column 10", 'is "0.10"'),
        (SAMPLE.replace('version: "0.1"\n', ""), "data.version", "line 1, column 1", 'must be "0.1"'),
        (HEAD, "data.tasks", "line 3, column 1", "at least one task"),
        (HEAD.replace("tasks:\n", ""), "data.tasks", "line 1, column 1", "at least one task"),
        (HEAD + "  []", "data.tasks", "line 4, column 3", "at least one task"),
        (HEAD + "  - t", "data.tasks[0]", "line 4, column 5", 'is the text "t"'),
        (TASK, "data.tasks[0].actions", "line 6, column 5", "at least one action"),
        (TASK + "      []", "data.tasks[0].actions", "line 7, column 7", "at least one action"),
        (TASK + "      - 7", "data.tasks[0].actions[0]", "line 7, column 9", 'is the text "7"'),
        (ACTION + "    worker_id: i", "data.tasks[0].worker_id", "line 9, column 5", "did you mean worker?"),
        (ACTION + "global-timeout: 1", "data.global-timeout", "line 9, column 1", "did you mean global_timeout?"),
        (ACTION + "name: x", "data", "line 9, column 1", 'the key "name" occurs twice'),
        (ACTION + "---\n", "data", "line 9, column 1", "a second document begins"),
        (ACTION + "  {{.d", "data", "line 9, column 3", "the action is not closed"),
        (ACTION + "# {{nope .x}}", "data", "line 9, column 5", 'the function "nope" is not defined'),
        (ACTION + "# \ufdd0", "data", "line 9, column 3", "U+FDD0 is reserved"),
        (ACTION + "# \x00", "data", "line 9, column 3", "is not allowed in YAML"),
        (ACTION + "# \ud800", "data", "line 9, column 3", "is not allowed in YAML"),
        (ACTION + "#" * 1024 * 1024, "data", "has 1,048,685 bytes", "at most 1,048,576 are allowed"),
    ],
)
def test_a_broken_rule_is_told_with_its_path_and_place(text: str, field: str, place: str, problem: str) -> None:
    (found,) = violations_of(text)
    assert found[0] == field
    assert found[1].startswith(place)
    assert problem in found[1]
    assert len(found[1]) < 300


def test_all_that_is_wrong_is_told_up_to_a_limit() -> None:
    broken = "version: 1\nname:\ntasks:\n- name: t\n  actions:\n  - name: a\n    image: A\n    timeout: '1'\n"
    assert [field for field, _ in violations_of(broken)] == [
        "data.name",
        "data.version",
        "data.tasks[0].actions[0].image",
        "data.tasks[0].actions[0].timeout",
    ]
    assert len(violations_of(broken + "    x: 1\n  - a\n" + "  - b\n" * 50)) == 20


def test_the_field_of_the_template_is_the_callers() -> None:
    with pytest.raises(errors.InvalidField) as refused:
        template.parse_template(HEAD, field="template.data")
    assert refused.value.violations[0].field == "template.data.tasks"


def test_names_are_unique_among_tasks_and_within_a_task() -> None:
    again = "  - name: t\n    worker: w\n    actions: [{name: b, image: i}, {name: b, image: i}]"
    assert violations_of(ACTION + again) == [
        ("data.tasks[1].name", 'line 9, column 11: another task has the name "t", too'),
        ("data.tasks[1].actions[1].name", 'line 11, column 43: another action of this task has the name "b", too'),
    ]


def test_the_same_action_name_may_be_used_in_two_tasks() -> None:
    text = ACTION + "  - name: t2\n    worker: w\n    actions: [{name: a, image: i}]"
    assert [task.actions[0].name for task in template.parse_template(text).tasks] == ["a", "a"]


def test_names_that_depend_on_values_may_look_alike() -> None:
    text = ACTION.replace("name: t", "name: '{{.t}}'") + "  - name: '{{.t}}'\n    actions: [{name: a, image: i}]"
    assert [task.name for task in template.parse_template(text).tasks] == ["{{.t}}", "{{.t}}"]


def test_anchors_and_merged_keys_work() -> None:
    text = TASK + (
        "      - &base {name: a, image: i, timeout: 5, environment: &env {A: 1}}\n"
        "      - <<: *base\n        name: b\n        environment: {<<: *env, B: 2}\n"
    )
    first, second = template.parse_template(text).tasks[0].actions
    assert (first.name, second.name, second.image, second.timeout_seconds) == ("a", "b", "i", 5)
    assert second.environment == ("A=1", "B=2")


@pytest.mark.parametrize("count", [1_000, 1_001])
def test_a_workflow_has_at_most_a_thousand_actions(count: int) -> None:
    tasks = []
    for task, number in enumerate((600, count - 600)):
        actions = "".join(f"    - {{name: a{action}, image: i}}\n" for action in range(number))
        tasks.append(f"  - name: t{task}\n    worker: w\n    actions:\n{actions}")
    if count <= 1_000:
        assert len(template.parse_template(HEAD + "".join(tasks)).tasks) == 2
    else:
        assert [field for field, _ in violations_of(HEAD + "".join(tasks))] == ["data.tasks[1].actions"]


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        (f"A: {'x' * 10_000}", "its actions have more than 3,145,728 bytes in all"),
        (", ".join(f"A{n}: 1" for n in range(61)), "have more than 30,000 arguments, volumes and variables in all"),
    ],
)
def test_what_each_action_inherits_is_bounded_in_all(environment: str, problem: str) -> None:
    actions = "".join(f"      - {{name: a{n}, image: i}}\n" for n in range(500))
    ((field, description),) = violations_of(TASK + actions + f"    environment: {{{environment}}}\n")
    assert field == "data"
    assert problem in description


@pytest.mark.parametrize(
    "body",
    [
        "      {{if .x}}\n      - {name: a, image: i}\n      {{end}}\n      - {name: b, image: i}\n",
        "      - name: a\n{{if .x}}\n        image: i\n{{else}}\n        image: j\n{{end}}\n",
        "      - name: a\n{{if eq .x 1}}\n        image: i\n{{end}}{{if eq .x 2}}\n        image: j\n{{end}}\n",
        "      {{range $n, $image := .images}}\n      - {name: 'a{{$n}}', image: {{$image}}}\n      {{end}}\n",
        "      {{range .none}}\n      {{else}}\n      - {name: a, image: i}\n      {{end}}\n",
        "      {{with .x}}\n      - {name: a, image: {{.}}}\n      {{end}}\n",
        "      - {name: a, image: 'i:{{if .x}}x{{else}}y{{end}}', command: [{{range .l}}{{.}}, {{end}}]}\n",
        "      - {name: a, image: i, command: {{if .x}}[a]{{else}}[b]{{end}} }\n",
        "      {{$image := .x}}\n      - {name: a, image: {{$image}}}\n",
        "      {{/* one */}}\n      - {name: a, image: i} # {{.comment}}\n",
        "      - name: a\n        image: i\n        environment: { {{.k}}: {{.x}} }\n",
        "      - name: a\n        image: i\n        command:\n        - |\n            {{.x}}\n",
    ],
)
def test_a_template_with_control_structures_is_a_template(body: str) -> None:
    assert template.parse_template(TASK + body).tasks[0].actions[0].name


def test_what_is_wrong_in_every_outline_is_told_for_the_first() -> None:
    ((field, description),) = violations_of(TASK + "      {{if .x}}\n      - {name: a, image: A}\n      {{end}}\n")
    assert field == "data.tasks[0].actions[0].image"
    assert description.startswith("line 8, column 26: ")
