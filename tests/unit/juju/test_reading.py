"""What words on the command line are read as."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tinkwell.juju.application import option
from tinkwell.juju.shell import duration, failure, moment, output, setting


@pytest.mark.parametrize(
    ("text", "seconds"), [("10s", 10), ("1m30s", 90), ("0.5s", 0.5), ("250ms", 0.25), ("2h", 7200), ("1.0s", 1)]
)
def test_a_duration_is_read_as_go_writes_it(text: str, seconds: float) -> None:
    assert duration.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "s", "1 m", "-1s", "99999999d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration|is more than 100 years"):
        duration.seconds(text)


@pytest.mark.parametrize(("seconds", "text"), [(10, "10s"), (300, "5m0s"), (3661, "1h1m1s")])
def test_a_duration_is_written_as_go_does(seconds: int, text: str) -> None:
    assert duration.show(seconds) == text


def test_times_are_in_utc() -> None:
    there = datetime(2026, 11, 27, 7, 1, 28, tzinfo=timezone(timedelta(hours=1)))
    assert moment.juju(there) == "27 Nov 2026 06:01:28Z"
    assert moment.iso(there) == moment.iso(there.astimezone(UTC)) == "2026-11-27T06:01:28Z"
    assert moment.juju(None) == moment.iso(None) == ""


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        ("data", {"data": 1}),
        ("data=1G", {"data": 1}),
        ("data=2", {"data": 2}),
        ("data=rootfs,512M,3", {"data": 3}),
        ("data=1.5GiB", {"data": 1}),
    ],
)
def test_a_storage_directive_says_how_many_instances_there_are(given: str, counts: dict[str, int]) -> None:
    assert option.counts([given]) == counts


@pytest.mark.parametrize("given", ["=1G", "data=ebs", "data=-1"])
def test_a_storage_directive_that_says_something_else_is_refused(given: str) -> None:
    with pytest.raises(failure.Failure):
        option.counts([given])


def test_a_value_may_have_equal_signs_and_may_be_that_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("line 1\nline 2\n")
    assert setting.pairs(["a=b=c", "empty=", f"key=@{tmp_path / 'key'}"]) == {
        "a": "b=c",
        "empty": "",
        "key": "line 1\nline 2\n",
    }
    with pytest.raises(failure.Usage, match='--config: expected "key=value", got "a"'):
        setting.pairs(["a"], "--config")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("- a\n", "must hold one mapping"), ("a: [\n", "line "), ("a: 1\n---\nb: 2\n", "must hold one mapping")],
)
def test_a_file_that_is_no_mapping_is_refused_with_its_name(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "options.yaml").write_text(text)
    with pytest.raises(failure.Failure, match=f"options.yaml: {sentence}"):
        setting.mapping(str(tmp_path / "options.yaml"))


def test_a_file_that_is_too_large_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"a" * (1024 * 1024 + 1))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("large", "binary"):
        with pytest.raises(failure.Failure, match=name):
            setting.mapping(str(tmp_path / name))
    (tmp_path / "empty").write_text("")
    assert setting.mapping(str(tmp_path / "empty")) == {}


def test_tables_are_aligned_without_blanks_at_their_ends() -> None:
    assert output.table(("A", "LONG"), [("first", ""), ("b", "x")]) == ["A      LONG", "first", "b      x"]
