"""Outcome files survive what kills their writer, and say nothing that was not written whole."""

import dataclasses
import os
from pathlib import Path

import pytest

from tinkwell.client.unit.agent.outcome import Outcome, OutcomeFolder

UNIT = "5b0d8a0e-8f0c-4b60-9f0b-6a4c2f0d9f11"
OUTCOME = Outcome(unit_id=UNIT, event_id="event", attempt=2, lease_token=7, effects=b"\x00bag\nedits\n")


@pytest.fixture
def folder(tmp_path: Path) -> OutcomeFolder:
    return OutcomeFolder(tmp_path / "outcomes")


def test_an_outcome_that_was_kept_is_found_by_the_next_agent(folder: OutcomeFolder, tmp_path: Path) -> None:
    folder.keep(OUTCOME)
    found = OutcomeFolder(tmp_path / "outcomes")
    assert found.unit_ids() == [UNIT]
    assert found.find(UNIT) == OUTCOME


def test_a_later_outcome_takes_the_place_of_the_former_one(folder: OutcomeFolder) -> None:
    later = dataclasses.replace(OUTCOME, attempt=3, effects=b"")
    folder.keep(OUTCOME)
    folder.keep(later)
    assert folder.find(UNIT) == later


def test_what_was_dropped_is_gone_and_may_be_dropped_again(folder: OutcomeFolder) -> None:
    folder.keep(OUTCOME)
    folder.drop(UNIT)
    folder.drop(UNIT)
    assert folder.find(UNIT) is None
    assert folder.unit_ids() == []


@pytest.mark.parametrize("kept", [0, 1, 20, -1])
def test_a_file_that_is_not_whole_counts_as_none(folder: OutcomeFolder, tmp_path: Path, kept: int) -> None:
    folder.keep(OUTCOME)
    file = tmp_path / "outcomes" / UNIT
    file.write_bytes(file.read_bytes()[:kept])
    assert folder.find(UNIT) is None


def test_a_file_without_its_fields_counts_as_none(folder: OutcomeFolder, tmp_path: Path) -> None:
    (tmp_path / "outcomes" / UNIT).write_bytes(b'["no", "header"]\n')
    assert folder.find(UNIT) is None


def test_what_a_predecessor_did_not_finish_is_swept(folder: OutcomeFolder, tmp_path: Path) -> None:
    scrap = tmp_path / "outcomes" / f"{UNIT}.scrap"
    scrap.write_bytes(b"half")
    assert folder.unit_ids() == []
    OutcomeFolder(tmp_path / "outcomes")
    assert not scrap.exists()


@pytest.mark.parametrize("name", ["lost+found", "notes", f"{UNIT}~", UNIT.upper(), UNIT.replace("-", "")])
def test_what_no_agent_has_written_is_left_alone(folder: OutcomeFolder, tmp_path: Path, name: str) -> None:
    folder.keep(OUTCOME)
    stray = tmp_path / "outcomes" / name
    stray.write_bytes(b"mine")
    assert OutcomeFolder(tmp_path / "outcomes").unit_ids() == [UNIT]
    assert stray.read_bytes() == b"mine"


def test_file_and_folder_are_on_the_disk_before_it_returns(
    folder: OutcomeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[bool, bool]] = []
    file, fsync = tmp_path / "outcomes" / UNIT, os.fsync

    def noted(descriptor: int) -> None:
        flushed.append((Path(f"/proc/self/fd/{descriptor}").is_dir(), file.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    folder.keep(OUTCOME)
    assert flushed == [(False, False), (True, True)]


@pytest.mark.parametrize("unit_id", ["../elsewhere", "", "web/0"])
def test_an_id_names_no_file_elsewhere(folder: OutcomeFolder, unit_id: str) -> None:
    with pytest.raises(ValueError):
        folder.keep(dataclasses.replace(OUTCOME, unit_id=unit_id))
