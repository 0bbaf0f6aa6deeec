"""A value, whatever it is made of, is a part of one text and never of the structure."""

import re
from dataclasses import replace

import pytest
import ruamel.yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.template import template
from tinkwell.core.value import document

# Each place holds `{{.v}}` with some text around it; the second item tells what comes out before and after the value.
PLACES = [
    ("command: [{{.v}}]", "", ""),
    ("command: ['{{.v}}']", "", ""),
    ('command: ["{{.v}}"]', "", ""),
    ("command:\n          - {{.v}}", "", ""),
    ("command:\n          - before {{.v}} after # comment {{.v}}", "before ", " after"),
    ("command:\n          - before\n            {{.v}}\n            after", "before ", " after"),
    ("command:\n          - 'before {{.v}} after'", "before ", " after"),
    ('command:\n          - "before\\t{{.v}}\\n"', "before\t", "\n"),
    ("command:\n          - |\n            {{.v}}\n            after", "", "\nafter\n"),
    ("command:\n          - |-\n            - name: {{.v}}", "- name: ", ""),
    ("command:\n          - >-\n            before\n            {{.v}}", "before ", ""),
    ("command: [{{- .v -}}]", "", ""),
    ("command: [{{with .v}}{{.}}{{else}}{{.v}}{{end}}]", "", ""),
    ("command: [{{$x := .v}}{{$x}}]", "", ""),
    ('command: [{{printf "%s" .v}}]', "", ""),
    ('command: [{{printf "<%s>" .v}}]', "<", ">"),
    ("command: [{{print .v}}]", "", ""),
    ("command: [{{.v | quote}}]", "", ""),
    ("command: [{{squote .v}}]", "", ""),
    ("command: [{{.v | toJson}}]", "", ""),
    ("command: ['<{{toString .v}}>']", "<", ">"),
    ("command: [{{ternary .v `x` true}}]", "", ""),
    ('command: [{{(dict "k" .v).k}}]', "", ""),
    ('command: [{{block "inner" .v}}{{.}}{{end}}]', "", ""),
    ("command: [{{range .list}}{{.}}{{break}}{{end}}]", "", ""),
    ("command: [{{range .list}}{{.}}{{end}}]", "", ""),
    ("command: [{{range $key, $value := .map}}{{$key}}{{end}}]", "", ""),
    ("command: [&a {{.v}}]", "", ""),
    ("command: [!!str {{.v}}]", "", ""),
    ("{{if .v}}command: [{{.v}}]{{else}}command: ['']{{end}}", "", ""),
]
HOSTILE = [
    "\n      - name: evil\n        image: evil\n",
    '"\n        image: evil\n        pid: "host',
    "', evil: '",
    "x]\n        pid: host\n        command: [y",
    "}}{{.secret}}{{",
    "{{.secret}}",
    "- a\n- b",
    "key: value",
    "&anchor *alias !!python/object/apply:os.system [x]",
    "# comment",
    " #",
    "<<",
    "null",
    "~",
    "---\n...\n%YAML 1.1",
    "|\n  x",
    "\ufdd00\ufdd1",
    "\ufdd1\ufdd0",
    "\\ufdd00\\ufdd1",
    '\\"\\n',
    "\r\n\t\x85\u2028\u2029\ufeff\x1b\x7f",
    "=:[]{},",
    " leading and trailing ",
    "\U0001f600\ud7ff\ue000\ufffe\uffff\U0010ffff",
]
values = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.sampled_from("ab:-?[]{},#&*!|>'\"%@`~<= \n\t\r\\.{}0\ufdd0\ufdd1\x85\u2028\ufeff"), max_size=30),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30),
)


def text_with(place: str) -> str:
    return (
        'version: "0.1"\nname: n\ntasks:\n  - name: t\n    worker: w\n    environment:\n      KEPT: "1"\n    actions:\n'
        f"      - name: a\n        image: i\n        {place}\n      - name: b\n        image: j\n"
    )


def devices_with(value: str) -> document.JsonObject:
    return {"v": value, "list": [value], "map": {value: 1}, "secret": "stolen"}


@pytest.mark.parametrize(("place", "before", "after"), PLACES)
@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_stays_where_it_was_put(place: str, before: str, after: str, value: str) -> None:
    check_that_only_the_command_differs(place, before, after, value)


@given(place=st.sampled_from(PLACES), value=values)
@example(place=PLACES[0], value="")
def test_any_value_stays_where_it_was_put(place: tuple[str, str, str], value: str) -> None:
    check_that_only_the_command_differs(*place, value)


def check_that_only_the_command_differs(place: str, before: str, after: str, value: str) -> None:
    harmless = template.render(text_with(place), devices_with("harmless"))
    rendered = template.render(text_with(place), devices_with(value))
    first, second = harmless.actions
    assert first.command == (f"{before}harmless{after}",)
    assert rendered.actions == (replace(first, command=(f"{before}{value}{after}",)), second)
    loaded = ruamel.yaml.YAML(typ="safe", pure=True).load(rendered.text)
    assert loaded == {
        "version": "0.1",
        "name": "n",
        "tasks": [
            {
                "name": "t",
                "worker": "w",
                "environment": {"KEPT": "1"},
                "actions": [
                    {"name": "a", "image": "i", "command": [f"{before}{value}{after}"]},
                    {"name": "b", "image": "j"},
                ],
            }
        ],
    }


@given(value=st.one_of(values, st.from_regex("[A-Za-z_][A-Za-z0-9_.-]{0,9}", fullmatch=True)))
def test_a_value_as_the_key_of_a_variable_adds_at_most_that_variable(value: str) -> None:
    text = text_with('environment: { {{.v}}: "x", OTHER: "y"}')
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_.-]*", value) and value != "OTHER":
        rendered = template.render(text, devices_with(value))
        variables = {"KEPT": "1", value: "x", "OTHER": "y"}
        assert rendered.actions[0].environment == tuple(f"{key}={variables[key]}" for key in sorted(variables))
    else:
        with pytest.raises(errors.InvalidField) as refused:
            template.render(text, devices_with(value))
        assert re.search("is not the name of a variable|occurs twice", str(refused.value))


@given(value=values)
def test_a_value_can_be_no_key_of_an_action(value: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        template.render(text_with("{{.v}}: host"), devices_with(value))
    assert "it cannot come from a value" in refused.value.violations[0].description


@pytest.mark.parametrize("key", ["pid", "volumes", "<<", "on-failure"])
def test_a_value_that_is_the_name_of_a_key_is_no_key(key: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        template.render(text_with("{{.v}}: host"), devices_with(key))
    assert "it cannot come from a value" in refused.value.violations[0].description


@given(value=values)
def test_a_name_holds_the_value_or_is_refused(value: str) -> None:
    text = text_with("pid: ''").replace("name: a", "name: x {{.v}}")
    try:
        rendered = template.render(text, devices_with(value))
    except errors.InvalidField as refused:
        assert [violation.field for violation in refused.violations] == ["data.tasks[0].actions[0].name"]  # noqa: PT017
        return
    assert [action.name for action in rendered.actions] == [f"x {value}", "b"]


@given(value=values)
def test_what_a_comment_holds_is_dropped(value: str) -> None:
    rendered = template.render(text_with("pid: host # {{.v}}"), devices_with(value))
    assert rendered == template.render(text_with("pid: host"), {})
