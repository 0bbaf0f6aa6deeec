"""What the harness compares and prints."""

from pathlib import Path

from tinkwell.core.release.protocol.answer import PlugRequest
from tinkwell.provisioner.resource import bad_config, finding, folder
from tinkwell.provisioner.resource.finding import Finding, Verdict


def test_a_table_has_a_line_for_each_check_and_counts_them() -> None:
    findings = [
        Finding("init", Verdict.OK, seconds=0.21),
        Finding("state", Verdict.FAILED, "it exited with code 1\n| why", "mend it"),
        Finding("actions", Verdict.SKIPPED, "it needs 'state' to go well"),
    ]
    assert list(finding.table(findings)) == [
        "CHECK    RESULT   SECONDS  WHAT WAS WRONG, AND WHAT TO DO",
        "init     ok          0.2s",
        "state    FAILED      0.0s  it exited with code 1",
        "                           | why",
        "                           → mend it",
        "actions  skipped     0.0s  it needs 'state' to go well",
        "3 checks: 1 ok, 1 failed, 1 skipped",
    ]
    assert finding.has_failed(findings)
    assert not finding.has_failed(findings[:1])


def test_what_an_image_printed_is_not_obeyed_by_a_terminal() -> None:
    (_, line, _) = finding.table([Finding("state", Verdict.FAILED, "| \x1b]0;t\x07\x9b2J\u202e")])
    assert line.endswith("| \\x1b]0;t\\x07\\x9b2J\\u202e")


def test_bad_configs_have_a_field_too_many_one_of_another_type_and_none() -> None:
    assert dict(bad_config.of({"name": "a", "port": 1, "more": {}, "list": []})) == {
        "the unknown field no_such_field": {"name": "a", "port": 1, "more": {}, "list": [], "no_such_field": True},
        "name as a number": {"name": 4711, "port": 1, "more": {}, "list": []},
        "port as an object": {"name": "a", "port": {}, "more": {}, "list": []},
        "more as a list": {"name": "a", "port": 1, "more": [], "list": []},
        "list as a number": {"name": "a", "port": 1, "more": {}, "list": 4711},
        "a config without any field": {},
    }


def test_each_plug_is_what_was_given_or_a_folder_of_its_own(tmp_path: Path) -> None:
    asked = [
        PlugRequest(name="mine", container_path="/mine", writable=True),
        PlugRequest(name="other", container_path="/other", writable=False),
        PlugRequest(name="given", container_path="/given", writable=True),
    ]
    given = {"given": folder.Plug(tmp_path, read_only=True)}
    found = folder.mounts(asked, given, tmp_path / "plugs")
    assert {name: (mount.source, mount.read_only) for name, mount in found.items()} == {
        "mine": (f"{tmp_path}/plugs/mine", False),
        "other": (f"{tmp_path}/plugs/other", True),
        "given": (str(tmp_path), True),
    }
    assert (tmp_path / "plugs" / "mine").is_dir()


def test_what_changes_in_a_plug_is_seen(tmp_path: Path) -> None:
    mounts = folder.mounts([PlugRequest(name="files", container_path="/files")], {}, tmp_path)
    files = tmp_path / "files"
    for name in ("same", "changed", "gone"):
        (files / name).write_text("a")
    (files / "folder").mkdir()
    (files / "link").symlink_to("same")
    before = folder.look(mounts)
    assert folder.changes(before, folder.look(mounts)) == ""
    (files / "changed").write_text("b")
    (files / "gone").unlink()
    (files / "folder" / "new").touch()
    (files / "link").unlink()
    (files / "link").symlink_to("changed")
    told = folder.changes(before, folder.look(mounts)).split(", ")
    assert told == ["files/folder/new appeared", "files/gone is gone", "files/changed changed", "files/link changed"]
