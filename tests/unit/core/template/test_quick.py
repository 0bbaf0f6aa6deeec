"""What is rendered at once: it comes out as ever, and where it might take long nothing is said about it."""

import json

import pytest

from tinkwell.core import errors
from tinkwell.core.template import frozen, quick, template
from tinkwell.core.template.frozen import Frozen
from tinkwell.core.template.quick import QuickTemplates
from tinkwell.core.value import document

SMALL = """\
version: "0.1"
name: small
tasks:
  - {name: one, worker: {{.worker}}, actions: [{name: one, image: one}]}
"""
ALL = """\
version: "0.1"
name: all
global_timeout: 600
on-failure: rescue
tasks:
  - name: one
    worker: "{{.worker}}"
    volumes: &volumes [/dev:/dev]
    environment: {A: !!str yes, B: "é\\t{{.worker}}"}
    actions:
      - {name: one, image: one, timeout: 60, retries: 2, command: [sh, "-c", '{{printf "%q" .worker}}']}
      - {name: two, image: two, volumes: *volumes, pid: host, on-timeout: [a], reboot: true, timeout: 5}
"""
# Four thousand characters that take six times their room when they are quoted.
LONG = "\u202e" * 4_000


def taught(text: str) -> QuickTemplates:
    """Templates that have learned this one, from the lesson as it comes out of another process."""
    known = QuickTemplates()
    lesson = quick.find_lesson(text)
    assert lesson is not None
    known.learn(text, json.loads(json.dumps(lesson)))
    return known


def rendered(known: QuickTemplates, text: str, devices: document.JsonObject) -> Frozen | None:
    return known.render(text, devices, field="template", devices_field="hardware")


def small(line: str) -> str:
    return SMALL + line + "\n"


@pytest.mark.parametrize("text", [SMALL, ALL])
@pytest.mark.parametrize("worker", ["any", "52:54:00:10:00:03", "a: b", "- [x", "\ufeff"])
def test_what_is_rendered_at_once_comes_out_as_ever_whatever_the_values_are(text: str, worker: str) -> None:
    whole = Frozen.of(template.render(text, {"worker": worker}))
    assert rendered(taught(text), text, {"worker": worker}) == whole
    assert whole.workers == (worker,)


def test_a_template_is_known_once_it_was_learned_and_those_that_were_not_used_are_forgotten() -> None:
    known = taught(SMALL)
    assert not known.may_learn(SMALL)
    others = [small(f"# {number}") for number in range(quick.MAX_KNOWN)]
    for text in others:
        assert known.may_learn(text)
        assert rendered(known, text, {"worker": "any"}) is None
        lesson = quick.find_lesson(text)
        assert lesson is not None
        known.learn(text, lesson)
        assert rendered(known, SMALL, {"worker": "any"}) is not None
    assert rendered(known, others[0], {"worker": "any"}) is None
    assert rendered(known, others[-1], {"worker": "any"}) is not None


VOLUMES = ", ".join(f"/{number}:/b" for number in range(300))
DOUBLED = "{{$x := .long}}" + "{{$x = print $x $x}}" * 8


def with_action(more: str, *, task: str = "", count: int = 1) -> str:
    """A template of so many actions, each with what more there is."""
    actions = ", ".join(f"{{name: a{number}, image: i{more}}}" for number in range(count))
    return f'version: "0.1"\nname: t\ntasks:\n  - {{name: t, worker: w{task}, actions: [{actions}]}}\n'


@pytest.mark.parametrize(
    "text",
    [
        small("#" * quick.MAX_CHARACTERS),
        small("{{range .many}}{{end}}"),
        small("{{if .worker}}{{end}}"),
        small("# " + "{{1}}" * 250),
        with_action(", command: [" + "a," * 1_000 + "]"),
    ],
)
def test_of_what_is_large_or_depends_on_values_nothing_is_learned(text: str) -> None:
    template.render(text, {"worker": "any", "many": []})
    assert quick.find_lesson(text) is None


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("functions read and write", small(DOUBLED + '{{$x = printf "%q" $x}}' * 15)),
        ("functions write", small('{{$y := printf "%q" .long}}' * 2)),
        ("values are written", small("# " + "{{.long}}" * 9)),
        ("what is looked for by an expression", small('# {{regexMatch "^a" .worker}}')),
        ("texts", with_action(", command: *c", task=f", volumes: &c [{VOLUMES}]", count=4)),
        ("aliases", with_action(", command: [&x {{.long}}, *x, *x]")),
        ("what a task gives to its actions", with_action("", task=", environment: {A: '{{.long}}'}", count=20)),
    ],
)
def test_what_might_take_long_is_not_rendered_at_once(why: str, text: str) -> None:
    assert rendered(taught(text), text, {"worker": "any", "long": LONG}) is None, why


def test_what_is_wrong_with_devices_is_told_at_once_as_well() -> None:
    known = taught(SMALL)
    for devices, field in (({}, "hardware.worker"), ({"worker": [1]}, "hardware.worker")):
        with pytest.raises(errors.InvalidField) as refused:
            rendered(known, SMALL, document.parse_json_object("", json.dumps(devices)))
        assert [violation.field for violation in refused.value.violations] == [field]
    with pytest.raises(errors.InvalidField, match=r"template.tasks\[0\].worker: .*must not be empty"):
        rendered(known, SMALL, {"worker": ""})


def test_what_is_frozen_is_the_same_after_it_was_written_and_read() -> None:
    whole = Frozen.of(template.render(ALL, {"worker": 'a "worker"\u202e'}))
    assert frozen.load(json.loads(json.dumps(frozen.dump(whole)))) == whole
    assert (whole.on_failure, whole.global_timeout_seconds, len(whole.actions)) == ("rescue", 600, 2)
