"""Who may use which plug, and how."""

import pytest

from tinkwell.core import errors
from tinkwell.core.release import report
from tinkwell.core.release.manifest.model import Plug
from tinkwell.core.release.protocol import plug
from tinkwell.core.release.protocol.answer import PlugRequest
from tinkwell.core.release.protocol.plug import Grant, Granted, Plugs

PLUGS = Plugs(
    {
        "writable_plug": Plug(path="/p1"),
        "readonly_plug": Plug(path="/p2", read_only=True),
        "restricted_plug": Plug(path="/p3", resource_names=("^rX$",)),
    }
)


def request(name: str, *, optional: bool = False, writable: bool = True) -> PlugRequest:
    return PlugRequest(name=name, container_path=f"/mnt/{name}", optional=optional, writable=writable)


@pytest.mark.parametrize(
    ("names", "types", "is_allowed"),
    [
        ((), (), True),
        ((".*",), (), True),
        ((), (".*",), True),
        ((".*",), (".*",), True),
        (("abc",), (), False),
        ((), ("abc",), False),
        (("abc",), ("abc",), False),
        (("abc",), (".*",), True),
        ((".*",), ("abc",), True),
        (("abc", ".*"), (), True),
        ((), ("abc", ".*"), True),
        (("abc", "abc.*"), (), False),
        ((), ("abc", "abc.*"), False),
        # A match begins where the text does, and may end before it.
        (("v",), (), True),
        (("m01",), (), False),
        (("m|v",), (), True),
        ((), ("vm:1",), True),
        (("^vm01$",), (), True),
    ],
)
def test_a_resource_may_use_a_plug_if_a_name_or_a_type_matches(
    names: tuple[str, ...], types: tuple[str, ...], is_allowed: bool
) -> None:
    plugs = Plugs({"p": Plug(path="/p", resource_names=names, resource_types=types)})
    found = plugs.grant("vm01", "vm:1.0.0", [request("p", optional=True)])
    assert bool(found.grants) is is_allowed


def test_a_resource_of_a_for_each_is_known_by_its_name_and_its_path() -> None:
    plugs = Plugs({"p": Plug(path="/p", resource_names=("^vm$",)), "q": Plug(path="/q", resource_names=(r"vm\[b\]",))})
    both = [request("p", optional=True), request("q", optional=True)]
    assert [grant.name for grant in plugs.grant("vm[a]", "x", both).grants] == ["p"]
    assert [grant.name for grant in plugs.grant("vm[b]", "x", both).grants] == ["p", "q"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("p0", "does not exist"),
        ("restricted_plug", "is not allowed for this resource"),
        ("readonly_plug", "is read-only, and write access was asked for"),
    ],
)
def test_a_plug_that_cannot_be_had_is_an_error_if_needed_and_a_warning_if_not(name: str, problem: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        PLUGS.grant("r1", "r1:1", [request(name)])
    assert str(caught.value).startswith(f"plugs.{name}: is needed by r1 (r1:1), but {problem}")
    assert report.is_wrong_plug(f"init FAILED: {caught.value}")
    found = PLUGS.grant("r1", "r1:1", [request(name, optional=True)])
    assert found == Granted((), (f"r1: the plug {name} {problem}; r1 goes without it",))


@pytest.mark.parametrize(
    ("name", "writable", "read_only"),
    [("readonly_plug", False, True), ("writable_plug", True, False), ("writable_plug", False, True)],
)
def test_a_plug_is_written_to_only_if_both_sides_say_so(name: str, writable: bool, read_only: bool) -> None:
    found = PLUGS.grant("r1", "r1:1", [request(name, writable=writable)])
    assert found == Granted((Grant(name=name, container_path=f"/mnt/{name}", read_only=read_only),))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("p0", "does not exist; write plugs: {p0: {path: …}} in the manifest"),
        ("writable_plugs", "and there is writable_plug; did you mean writable_plugs? Write plugs: {writable_plugs: {"),
    ],
)
def test_a_plug_that_does_not_exist_is_told_how_to_write(name: str, hint: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        PLUGS.grant("r1", "r1:1", [request(name)])
    assert hint in str(caught.value)


def test_all_plugs_that_are_missing_are_told_at_once() -> None:
    with pytest.raises(errors.InvalidField) as caught:
        PLUGS.grant("r1", "r1:1", [request("p0"), request("writable_plug"), request("restricted_plug")])
    assert [violation.field for violation in caught.value.violations] == ["plugs.p0", "plugs.restricted_plug"]


def test_a_foreign_image_gets_no_plugs() -> None:
    grants = PLUGS.grant("r1", "r1:1", [request("writable_plug")]).grants
    assert plug.grants_for("", "r1:1", grants) == grants
    assert plug.grants_for("r1:1", "r1:1", grants) == grants
    assert plug.grants_for("r1:2", "r1:1", grants) == ()


@pytest.mark.parametrize("pattern", ["(", "a)|(b", "(?=a)", r"(a)\1", "(((a{100}){100}){100})", "*"])
def test_what_is_no_linear_expression_is_refused_by_its_place(pattern: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        Plugs({"p": Plug(path="/p", resource_names=("fine", pattern))})
    [violation] = caught.value.violations
    assert violation.field == "plugs.p.resource_names[1]"
    assert "is not a regular expression that can be matched in linear time" in violation.description


def test_an_expression_that_would_take_for_ever_elsewhere_does_not() -> None:
    plugs = Plugs({"p": Plug(path="/p", resource_names=("(a+)+$", "(a|a)*$", "(.*)*x"))})
    assert plugs.grant("a" * 100 + "!", "x", [request("p", optional=True)]).grants == ()
