"""Which versions and ranges are understood, and which versions lie in a range."""

import pytest
import semantic_version
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.release.chart.file import constraint, version


@pytest.mark.parametrize(
    "text", ["1.0.0", "0.0.0", "v1.2.3", "1.2.3-rc.1", "1.2.3-0a.-", "1.2.3+build.007", "1.2.3-a+b"]
)
def test_versions_of_semver_2_are_taken(text: str) -> None:
    assert constraint.parse_version("version", text) == text


@pytest.mark.parametrize(
    "text", ["1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0-a..b", "a.b.c", "1.0.0 ", "١.0.0"]
)
def test_other_versions_are_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField, match=r"^version: .* is not a version of SemVer 2; write three numbers"):
        constraint.parse_version("version", text)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("", "0.0.1 1.0.0-rc", ""),
        ("*", "0.0.1 9.9.9", "1.0.0-rc"),
        ("1.2.3", "1.2.3 v1.2.3 1.2.3+build", "1.2.4 1.2.2 1.2.3-rc"),
        ("=1.2.3", "1.2.3", "1.2.4"),
        ("v1.2.3", "1.2.3", "1.2.4"),
        ("!=1.2.3", "1.2.4 0.1.0", "1.2.3"),
        ("1", "1.0.0 1.9.9", "0.9.9 2.0.0"),
        ("1.2", "1.2.0 1.2.9", "1.1.9 1.3.0"),
        ("1.x", "1.0.0 1.9.9", "0.9.9 2.0.0"),
        ("1.2.X", "1.2.0 1.2.9", "1.1.9 1.3.0"),
        ("1.*.*", "1.0.0 1.9.9", "0.9.9 2.0.0"),
        (">=1.2 <2", "1.2.0 1.9.9", "1.1.9 2.0.0 2.0.0-rc 1.5.0-rc"),
        (">= 1.2, < 2", "1.2.0 1.9.9", "1.1.9 2.0.0"),
        (">=1.2,<2", "1.2.0 1.9.9", "1.1.9 2.0.0"),
        ("=>1.2 =<1.4", "1.2.0 1.4.9", "1.1.9 1.5.0"),
        (">1.2", "1.3.0", "1.2.0 1.2.9"),
        (">1.2.3", "1.2.4", "1.2.3"),
        ("<=1.2", "1.2.9 0.1.0", "1.3.0"),
        ("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0"),
        ("^1.2", "1.2.0 1.9.0", "1.1.9 2.0.0"),
        ("^1.x", "1.0.0 1.9.0", "0.9.9 2.0.0"),
        ("^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2"),
        ("^0.0.3", "0.0.3", "0.0.4 0.0.2"),
        ("^0", "0.0.0 0.9.9", "1.0.0"),
        ("~1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0"),
        ("~1.2", "1.2.0 1.2.9", "1.1.9 1.3.0"),
        ("~1", "1.0.0 1.9.9", "0.9.9 2.0.0"),
        ("~> 1.2.3", "1.2.3 1.2.9", "1.3.0"),
        ("1.2 - 1.4", "1.2.0 1.4.9", "1.1.9 1.5.0"),
        ("1.2.3 - 2.3.4", "1.2.3 2.3.4", "1.2.2 2.3.5"),
        ("<1 || >=2.1 <3 || 5", "0.1.0 2.1.0 5.5.5", "1.0.0 2.0.9 3.0.0 4.0.0"),
        ("1 ||", "0.1.0 7.0.0", "1.0.0-rc"),
    ],
)
def test_ranges_hold_what_helm_and_npm_say(text: str, inside: str, outside: str) -> None:
    assert constraint.parse_range("version", text) == text
    assert [found for found in inside.split() if not version.is_within(found, text)] == []
    assert [found for found in outside.split() if version.is_within(found, text)] == []


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">=1.2.0-0", "1.2.0-rc 1.2.0 1.3.0-rc 9.9.9", "1.1.9 1.1.9-rc"),
        ("^1.2.3-beta.2", "1.2.3-beta.2 1.2.3-rc 1.2.3 1.2.4-alpha 1.9.0", "1.2.3-beta.1 1.2.2 2.0.0-alpha 2.0.0"),
        ("~1.2.0-0", "1.2.0-alpha 1.2.0 1.2.5", "1.1.9 1.3.0-alpha 1.3.0"),
        ("1.2.3-rc.1", "1.2.3-rc.1 1.2.3-rc.1+b", "1.2.3 1.2.3-rc.2"),
        ("!=1.2.3-rc.1", "1.2.3-rc.2 1.2.3", "1.2.3-rc.1"),
        ("<=2.0.0-rc", "1.0.0 2.0.0-beta 2.0.0-rc", "2.0.0"),
        ("<2.0.0-rc", "1.0.0 2.0.0-beta", "2.0.0-rc"),
        (">2.0.0-rc", "2.0.0-rc.1 2.0.0", "2.0.0-rc 1.9.9"),
        (">=1.0.0-0 <2", "1.5.0-rc 1.0.0-rc", "2.0.0-rc 2.0.0"),
        (">=2 <3.0.0-0", "2.0.1-rc 2.5.0-rc 2.0.0", "2.0.0-rc 3.0.0-rc 1.9.9"),
        (">=2.1 <3.0.0-0", "2.1.1-rc", "2.1.0-rc"),
        (">=1.0.0-0 || 5", "5.0.0-rc", "0.0.0-rc"),
        ("1.0.0-0 || 5", "5.0.0", "5.0.1-rc"),
        ("<1 !=0.0.1-0", "0.0.0-rc", "0.0.1-0"),
    ],
)
def test_a_prerelease_is_held_only_where_one_is_mentioned(text: str, inside: str, outside: str) -> None:
    assert [found for found in inside.split() if not version.is_within(found, text)] == []
    assert [found for found in outside.split() if version.is_within(found, text)] == []


@pytest.mark.parametrize(
    "text",
    [
        ">=",
        "a",
        "1.2.3.4",
        "1.x.3",
        "1.2-rc",
        ">=1.2.3-",
        "1..2",
        "^^1",
        "1 -2",
        "1 - ",
        ">1 2x",
        "01",
        ">=1.2 |< 2",
        "@1",
    ],
)
def test_other_ranges_are_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField, match=r"^version: .* is not a range of versions, because of "):
        constraint.parse_range("version", text)


def test_a_range_is_bounded_in_length() -> None:
    with pytest.raises(errors.InvalidField, match="has 600 bytes; at most 256 are allowed"):
        constraint.parse_range("version", "1 " * 300)


_NUMBERS = st.integers(0, 3)
_LABELS = st.sampled_from(["", "", "", "-0", "-a", "-rc.1"])
_VERSIONS = st.builds("{}.{}.{}{}".format, _NUMBERS, _NUMBERS, _NUMBERS, _LABELS)
_OPERATORS = st.sampled_from(["", "=", ">", ">=", "<", "<=", "^", "~"])
_PARTIALS = st.one_of(
    _VERSIONS,
    st.builds("{}".format, _NUMBERS),
    st.builds("{}.{}".format, _NUMBERS, _NUMBERS),
    st.builds("{}.{}.x".format, _NUMBERS, _NUMBERS),
)


@given(_OPERATORS, _PARTIALS, _VERSIONS)
def test_one_comparator_agrees_with_the_order_of_versions(operator: str, bound: str, wanted: str) -> None:
    held = version.is_within(wanted, operator + bound)
    found = semantic_version.Version(wanted)
    if operator in {">", ">=", "<", "<="} and bound.count(".") == 2 and not bound.endswith("x"):
        limit = semantic_version.Version(bound)
        orders = {">": found > limit, ">=": found >= limit, "<": found < limit, "<=": found <= limit}
        # Without a prerelease in the range none is held.
        may_hold = not found.prerelease or bool(limit.prerelease)
        assert held == (orders[operator] and may_hold)
    elif held and found.prerelease:
        assert "-" in bound


@given(_VERSIONS, st.lists(st.builds("{}{}".format, _OPERATORS, _PARTIALS), min_size=1, max_size=3))
def test_alternatives_hold_what_any_holds(wanted: str, parts: list[str]) -> None:
    assert version.is_within(wanted, " || ".join(parts)) == any(version.is_within(wanted, part) for part in parts)


@given(
    _VERSIONS.filter(lambda text: "-" not in text),
    st.lists(st.builds("{}{}".format, _OPERATORS, _PARTIALS), min_size=1, max_size=3),
)
def test_comparators_hold_what_all_hold(wanted: str, parts: list[str]) -> None:
    for joiner in (" ", ", ", ","):
        assert version.is_within(wanted, joiner.join(parts)) == all(version.is_within(wanted, part) for part in parts)
