"""The machine's setting is changed for the run alone."""

from pathlib import Path

import pytest

from bench import huge_pages


@pytest.mark.parametrize("before", ["0\n", "7000\n"])
def test_huge_pages_are_permitted_for_the_run_and_no_fewer_than_before(tmp_path: Path, before: str) -> None:
    setting = tmp_path / "setting"
    setting.write_text(before)
    with huge_pages.permitted(setting):
        assert int(setting.read_text()) == max(512, int(before))
    assert setting.read_text() == before


def test_where_the_machine_has_no_such_setting_nothing_is_changed(tmp_path: Path) -> None:
    with huge_pages.permitted(tmp_path / "none" / "setting"):
        pass
    assert not list(tmp_path.iterdir())


def test_the_setting_comes_back_after_a_failure(tmp_path: Path) -> None:
    setting = tmp_path / "setting"
    setting.write_text("0\n")
    with pytest.raises(RuntimeError), huge_pages.permitted(setting):
        raise RuntimeError("the run failed")
    assert setting.read_text() == "0\n"
