"""The configuration of an application: which values are taken, in which form, and which are refused."""

import decimal

import pytest

from tinkwell.core import errors
from tinkwell.core.charm import config
from tinkwell.core.charm.record import Option, OptionType
from tinkwell.core.value.document import JsonValue

OPTIONS = {
    "title": Option(name="title", type=OptionType.STRING, default="Welcome"),
    "workers": Option(name="workers", type=OptionType.INT, default=2, minimum=1, maximum=64),
    "ratio": Option(name="ratio", type=OptionType.FLOAT),
    "debug": Option(name="debug", type=OptionType.BOOLEAN, default=False),
}


@pytest.mark.parametrize(
    ("name", "given", "stored"),
    [
        ("title", "a\nb", "a\nb"),
        ("title", "", ""),
        ("title", "2", "2"),
        ("workers", 3, 3),
        ("workers", "3", 3),
        ("workers", " +3 ", 3),
        ("ratio", 1, 1),
        ("ratio", decimal.Decimal("0.10"), decimal.Decimal("0.10")),
        ("ratio", "0.10", decimal.Decimal("0.10")),
        ("ratio", "-1e3", decimal.Decimal("-1E+3")),
        ("debug", True, True),
        ("debug", "True", True),
        ("debug", "false", False),
    ],
)
def test_a_value_is_taken_in_its_one_form(name: str, given: JsonValue, stored: JsonValue) -> None:
    assert config.edit(OPTIONS, {}, {name: given}, field="config") == {name: stored}
    assert type(config.edit(OPTIONS, {}, {name: given}, field="config")[name]) is type(stored)


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("titel", "a", "config.titel: the charm has no such option; did you mean title?"),
        ("title", 1, "config.title: must be text, and not a number"),
        ("title", ["a"], "config.title: must be text, and not a list"),
        ("title", "\x00", "config.title: has the control character \\u0000 at place 0"),
        ("title", "a" * 1_048_577, "config.title: has 1,048,577 bytes; at most 1,048,576 are allowed"),
        ("workers", "many", 'config.workers: must be a whole number, and not the text "many"'),
        ("workers", "1.5", 'config.workers: must be a whole number, and not the text "1.5"'),
        ("workers", True, "config.workers: must be a whole number, and not true"),
        ("workers", 0, "config.workers: is 0; it must be at least 1"),
        ("workers", "65", "config.workers: is 65; it must be at most 64"),
        ("workers", 2**63, "config.workers: does not fit in 64 bits; write a smaller number"),
        ("ratio", "1e999", 'config.ratio: must be a number, and not the text "1e999"'),
        ("ratio", "nan", 'config.ratio: must be a number, and not the text "nan"'),
        ("debug", "maybe", 'config.debug: must be true or false, and not the text "maybe"'),
        ("debug", 1, "config.debug: must be true or false, and not a number"),
    ],
)
def test_a_wrong_value_is_refused_with_one_clear_sentence(name: str, given: JsonValue, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        config.edit(OPTIONS, {}, {name: given}, field="config")
    assert str(caught.value) == sentence


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(errors.InvalidField) as caught:
        config.edit(OPTIONS, {}, {"workers": 0, "debug": 3, "other": 1}, field="config")
    assert [violation.field for violation in caught.value.violations] == [
        "config.workers",
        "config.debug",
        "config.other",
    ]


def test_an_edit_leaves_the_rest_and_gives_back_defaults() -> None:
    current: dict[str, JsonValue] = {"title": "a", "workers": 3}
    assert config.edit(OPTIONS, current, {"title": None, "debug": True}, field="") == {"workers": 3, "debug": True}
    assert current == {"title": "a", "workers": 3}


def test_a_configuration_is_bounded_as_a_whole() -> None:
    current: dict[str, JsonValue] = {"title": "a" * 1_000_000}
    options = {**OPTIONS, "more": Option(name="more", type=OptionType.STRING)}
    with pytest.raises(errors.InvalidField, match=r"^config: has 1,1\d\d,\d\d\d bytes; at most 1,048,576 are allowed$"):
        config.edit(options, current, {"more": "b" * 100_000}, field="config")


def test_what_is_effective_has_the_defaults_and_no_option_without_a_value() -> None:
    assert config.effective(OPTIONS, {"workers": 5}) == {"title": "Welcome", "workers": 5, "debug": False}


def test_another_charm_keeps_what_it_can_take() -> None:
    other = {
        "title": Option(name="title", type=OptionType.INT),
        "workers": Option(name="workers", type=OptionType.INT, maximum=4),
        "ratio": Option(name="ratio", type=OptionType.FLOAT),
    }
    current: dict[str, JsonValue] = {"title": "5", "workers": 8, "ratio": 1, "debug": True}
    assert config.kept(other, current) == {"ratio": 1}
    assert config.kept(OPTIONS, current) == current


@pytest.mark.parametrize(
    "given", ["9m4e2mr0ui3e8a215n4g", "secret:9m4e2mr0ui3e8a215n4g", "secret://m/9m4e2mr0ui3e8a215n4g"]
)
def test_the_name_of_a_secret_has_one_form(given: str) -> None:
    token = Option(name="token", type=OptionType.SECRET)
    assert config.parse_value("token", given, token) == "secret:9m4e2mr0ui3e8a215n4g"
    assert config.parse_value("token", "", token) == ""


@pytest.mark.parametrize(("given", "sentence"), [("hunter2", "names no secret"), (3, "must be the name of a secret")])
def test_what_names_no_secret_is_refused(given: JsonValue, sentence: str) -> None:
    with pytest.raises(errors.InvalidField, match=sentence):
        config.parse_value("token", given, Option(name="token", type=OptionType.SECRET))
