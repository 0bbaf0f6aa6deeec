"""The commands for secrets: what they are given, what they show, and what is never on a command line."""

from pathlib import Path

import pytest
from unit.cli.unit.conftest import Site


def added(site: Site, *arguments: str, stdin: str | None = None) -> str:
    """Make a secret db-admin, and return its name."""
    label, name = site.cli.ok("secret", "add", "db-admin", *arguments, stdin=stdin).split()
    assert label == "db-admin"
    assert name.startswith("secret:")
    return name


@pytest.fixture
def password(tmp_path: Path) -> str:
    path = tmp_path / "password.txt"
    path.write_text("hunter2\n")
    return f"password#file={path}"


def test_a_secret_is_made_of_files_and_revealed(site: Site, password: str) -> None:
    name = added(site, password, "--description", "for all")
    shown = site.cli.ok("secret", "show", name)
    assert f"SECRET       {name}" in shown
    assert "OWNER        a user" in shown
    assert "hunter2" not in shown
    assert site.cli.json("secret", "show", "db-admin")["description"] == "for all"
    assert site.cli.ok("secret", "reveal", "db-admin").split() == ["KEY", "VALUE", "password", "hunter2"]
    assert site.cli.ok("secret", "reveal", name, "--key", "password") == "hunter2"
    assert site.cli.json("secret", "reveal", name)["content"] == {"password": "hunter2"}
    said = site.cli.fails("secret", "reveal", "db-admin", "--key", "user-name")
    assert said == "Error: db-admin has no key user-name in revision 1; it has password\n"


@pytest.mark.parametrize("text", ["password: hunter2\nuser-name: ann\n", '{"password": "hunter2", "user-name": "ann"}'])
def test_keys_and_values_are_read_from_a_document(site: Site, text: str) -> None:
    added(site, "--file", "-", stdin=text)
    revealed = site.cli.json("secret", "reveal", "db-admin")["content"]
    assert revealed == {"password": "hunter2", "user-name": "ann"}


def test_a_value_is_read_from_standard_input(site: Site) -> None:
    added(site, "password#file=-", stdin="hunter2\nand more\n")
    assert site.cli.json("secret", "reveal", "db-admin")["content"] == {"password": "hunter2\nand more"}


def test_a_key_alone_is_asked_for(site: Site) -> None:
    result = site.cli.run("secret", "add", "db-admin", "password", stdin="hunter2\nhunter2\n")
    assert result.exit_code == 0
    assert "hunter2" not in result.output
    assert site.cli.ok("secret", "reveal", "db-admin", "--key", "password") == "hunter2"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("password=hunter2",),
            "a value on the command line can be seen by others; write password#file=FILE, or",
        ),
        (("#file=x",), "'#file=x' is neither KEY nor KEY#file=FILE"),
        (("password#file=",), "is neither KEY nor KEY#file=FILE"),
        ((), "it holds nothing; give at least one KEY#file=FILE, or --file"),
    ],
)
def test_what_is_no_content_is_refused(site: Site, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in site.cli.fails("secret", "add", "db-admin", *arguments, code=2)


def test_what_a_file_must_be(site: Site) -> None:
    said = site.cli.fails("secret", "add", "db-admin", "--file", "-", stdin="password: 3\n")
    assert said == "Error: -: password: must be text; put quotes around it\n"
    said = site.cli.fails("secret", "add", "db-admin", "--file", "-", stdin="[]")
    assert said == "Error: -: must hold one object, whose keys are keys of the secret\n"
    assert "No such file" in site.cli.fails("secret", "add", "db-admin", "password#file=/nowhere/at/all")


def test_a_secret_is_changed_granted_and_removed(site: Site, password: str) -> None:
    site.cli.ok("app", "deploy", "web", site.web, "--to", "anywhere")
    name = added(site, password)
    assert site.cli.ok("secret", "grant", name, "web") == f"web: may read db-admin as {name}\n"
    assert "MAY BE READ BY  web" in site.cli.ok("secret", "show", "db-admin")
    assert site.cli.ok("secret", "revoke", "db-admin", "web") == "web: may no longer read db-admin\n"
    assert site.cli.ok("secret", "update", "db-admin", "--label", "admin") == "admin: revision 1\n"
    assert site.cli.ok("secret", "update", "admin", password) == "admin: revision 2\n"
    assert "there is nothing to change" in site.cli.fails("secret", "update", "admin", code=2)
    header, row = site.cli.ok("secret", "list").splitlines()
    assert header.split() == ["SECRET", "NAMESPACE", "OWNER", "LABEL", "REVISION", "ROTATION", "DESCRIPTION"]
    assert row.split()[1:] == ["default", "-", "admin", "2", "never", "-"]
    assert site.cli.ok("secret", "remove", "admin", "--revision", "1") == "admin: revision 1 is removed\n"
    assert site.cli.ok("secret", "remove", "admin") == "admin: is removed\n"
    assert site.cli.fails("secret", "show", name) == f"Error: secret {name.removeprefix('secret:')} does not exist\n"
    assert site.cli.json("secret", "list") == []
