"""What each command that takes a database's URL says of one that is malformed, unusual, or leads nowhere."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import rich_click as click
from click.testing import CliRunner

from tinkwell.server.app import commands, process
from tinkwell.server.database import readiness

SECRET = "c4n4ry-p4ssw0rd"
LOGIN = f"postgresql://u:{SECRET}@"
FORM = "it must look like postgresql://USER:PASSWORD@HOST/DATABASE"
PORT = "a port in it is no number from 1 to 65535; characters such as / in a password need escaping"
NO_HOST = "its host is no name, no address, and no folder, which would begin with / or %2F"
NOBODY = "no PostgreSQL listens at 127.0.0.1:1"

# Each URL, and how what is said begins behind the name of the option. Nothing listens at port 1 of this machine.
URLS = {
    "": FORM,
    "postgresql:": FORM,
    "postgresql//u@h/d": FORM,
    "mysql://u@h/d": FORM,
    "postgresql+asyncpg://u@h/d": FORM,
    "jdbc:postgresql://h/d": FORM,
    "h:5432/d": FORM,
    "host=h dbname=d": FORM,
    '"postgresql://u@h/d"': FORM,
    " postgresql://u@h/d": "a blank or the end of a line stands before or behind it",
    "postgresql://u@h/d\n": "a blank or the end of a line stands before or behind it",
    "postgresql://u@h/d\r\nx": "it holds a character that cannot be printed",
    "postgresql://u@h/%00": "it holds a zero byte",
    "postgresql://u:%ff@h/d": "what it escapes by % is no UTF-8",
    f"postgresql://u:{SECRET}@x@h/d": FORM,
    f"postgresql://u:p@{SECRET}/x@h:1/d": FORM,
    f"{LOGIN}h:port/d": PORT,
    f"{LOGIN}h:0/d": PORT,
    f"{LOGIN}h:99999/d": PORT,
    f"{LOGIN}h:-1/d": PORT,
    f"{LOGIN}h:١٢/d": PORT,
    f"{LOGIN}h/d?port=5432x": PORT,
    f"{LOGIN}h:1,i:x/d": PORT,
    f"{LOGIN}/d?host=h:1&host=i:x": PORT,
    f"{LOGIN}/d?host=h:1&host=i:2&port=3": "its parameter port cannot be had together with ports",
    f"{LOGIN}/d?host=h,i&port=1,2,3": "its parameter port must be one number, or as many as there are hosts",
    f"{LOGIN}h,,i/d": "one of its hosts is empty",
    f"{LOGIN}...:1/d": NO_HOST,
    f"{LOGIN}a..b/d": NO_HOST,
    f"{LOGIN}{'h' * 64}/d": NO_HOST,
    f"{LOGIN}a b/d": NO_HOST,
    f"{LOGIN}/d?host=run/postgresql": NO_HOST,
    f"{LOGIN}/d?host=@abstract": NO_HOST,
    f"{LOGIN}h,a%20b/d": "host 2 of its 2 is no name, no address, and no folder",
    f"{LOGIN}[::1/d": "one of its hosts cannot be read; an address of IPv6 belongs into brackets",
    f"{LOGIN}::1/d": "one of its hosts cannot be read; an address of IPv6 belongs into brackets",
    f"{LOGIN}[db]:1/d": "what stands in brackets must be an address of IPv6",
    f"{LOGIN}[1:2]:1/d": "its host is no address of IPv6",
    f"{LOGIN}%2F{'f' * 100}/d": "its host is a folder whose path is too long for a socket in it",
    f"{LOGIN}h/d?sslmode": "it must look like postgresql://USER:PASSWORD@HOST/DATABASE?NAME=VALUE",
    f"{LOGIN}h/d?=x": "one of its parameters has a name that PostgreSQL does not know",
    f"{LOGIN}h/d?sslmod=require": "its parameter sslmod is none that PostgreSQL knows; did you mean sslmode?",
    f"{LOGIN}h/d?target_session_attrs=standby": "its parameter target_session_attrs can only be any, primary or",
    f"{LOGIN}h/d?connect_timeout=soon": "its parameter connect_timeout must be a number of seconds from 1 to 600",
    f"{LOGIN}h/d?user=v&user=w": "its parameter user is given more than once",
    f"{LOGIN}h/d?ssl_min_protocol_version=TLSv1.3&ssl_max_protocol_version=TLSv1.2": (
        "its parameter ssl_min_protocol_version is above its ssl_max_protocol_version"
    ),
    f"{LOGIN}h/d?sslmode=verify-full": "its parameter sslmode=verify-full needs sslrootcert=FILE",
    f"{LOGIN}h/d?sslrootcert=/absent": "the file that its parameter sslrootcert names cannot be read",
    f"{LOGIN}h/d?sslrootcert=FILE": "the file that its parameter sslrootcert names holds no certificates in PEM",
    f"{LOGIN}h/d?sslcrl=FILE": "the file that its parameter sslcrl names holds no revocation lists in PEM",
    f"{LOGIN}h/d?sslcert=FILE&sslkey=FILE": "the files that its parameters sslcert and sslkey name hold no certificate",
    f"{LOGIN}h/d?passfile=/absent": "the file that its parameter passfile names cannot be read",
    f"{LOGIN}h/d?passfile=FILE": "the file that its parameter passfile names must be readable by its owner alone",
    f"{LOGIN}h/d?service=absent": "the service that its parameter service names is not in .pg_service.conf",
    # What can be read, and leads nowhere.
    f"{LOGIN}127.0.0.1:1/d": NOBODY,
    f"{LOGIN}127.0.0.1:1/a/b": NOBODY,
    f"{LOGIN}127.0.0.1:1": NOBODY,
    f"{LOGIN}127.0.0.1:1/d?host=": NOBODY,
    f"{LOGIN}localhost:1/d": "no PostgreSQL listens at localhost:1",
    f"{LOGIN}[::1]:1/d": r"",
    f"{LOGIN}%2Fabsent/d": "no PostgreSQL listens at the socket /absent/.s.PGSQL.5432",
    f"{LOGIN}/d?host=/absent/&port=7": "no PostgreSQL listens at the socket /absent/.s.PGSQL.7",
    f"{LOGIN}db.invalid/d": "the host of db.invalid:5432 cannot be found: ",
    f"{LOGIN}300.1.1.1/d": "the host of 300.1.1.1:5432 cannot be found: ",
    f"{LOGIN}127.0.0.1:1,127.0.0.1:2/d": f"no host is the primary: {NOBODY}; no PostgreSQL listens at 127.0.0.1:2",
    f"{LOGIN}/d?host=127.0.0.1:1&host=127.0.0.1:2": f"no host is the primary: {NOBODY}; no PostgreSQL listens at",
}
KEY = "00" * 8
COMMANDS: dict[str, tuple[click.Command, list[str]]] = {
    "server": (commands.server, ["--port", "0", "--http-port", "0"]),
    "db upgrade": (commands.upgrade, []),
    "db current": (commands.current, []),
    "db downgrade": (commands.downgrade, ["base", "--yes"]),
    "db maintain": (commands.maintain, []),
    "secret rekey": (commands.rekey, []),
    "secret forget": (commands.forget, [KEY]),
}
# How a URL is given: the environment, the options and the configuration file that do so, and how it is named then.
Given = tuple[dict[str, str], list[str], str]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have nobody wait for a database, and leave this process's collector as it is."""
    assert readiness.wait.__kwdefaults__ is not None
    monkeypatch.setitem(readiness.wait.__kwdefaults__, "patience_seconds", 0)
    monkeypatch.setattr(process, "_collect_seldom", lambda: None)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("PGHOST", "PGPORT", "PGSERVICEFILE", "PGSSLROOTCERT", "TINKWELL_DATABASE_URL", "TINKWELL_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A key file."""
    result = CliRunner().invoke(commands.keygen, [str(tmp_path / "keys")])
    assert result.exit_code == 0
    return tmp_path / "keys"


def by_variable(url: str, _: Path) -> Given:
    return {"TINKWELL_DATABASE_URL": url}, [], "TINKWELL_DATABASE_URL"


def by_option(url: str, _: Path) -> Given:
    return {}, ["--database-url", url], "--database-url"


def by_file(url: str, folder: Path) -> Given:
    (folder / "given.toml").write_text(f"database_url = '''{url}'''\n", encoding="utf-8", newline="")
    return {}, ["--config", str(folder / "given.toml")], f"database_url in {folder / 'given.toml'}"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_url_that_cannot_be_used_is_told_in_one_sentence_that_names_where_it_is_from(
    name: str, keys: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command, arguments = COMMANDS[name]
    (tmp_path / "FILE").write_text("nothing of use")
    (tmp_path / "FILE").chmod(0o644)
    for pattern, sentence in URLS.items():
        url = pattern.replace("FILE", str(tmp_path / "FILE"))
        told = say(command, arguments, by_option(url, tmp_path), keys)
        assert told.startswith("--database-url: "), (url, told)
        said = re.sub(r"^the database at \S* cannot be used: ", "", told.removeprefix("--database-url: "))
        assert said.startswith(sentence), (url, told)
        assert "\n" not in said, (url, told)
        assert "Errno" not in said, (url, told)
        assert SECRET not in told + caplog.text, (url, told)


@pytest.mark.parametrize("give", [by_variable, by_option, by_file])
@pytest.mark.parametrize("name", COMMANDS)
def test_the_place_that_a_url_is_from_is_named(
    name: str, give: Callable[[str, Path], Given], keys: Path, tmp_path: Path
) -> None:
    command, arguments = COMMANDS[name]
    for url in (f"{LOGIN}h:port/d", f"{LOGIN}127.0.0.1:1/d"):
        given = give(url, tmp_path)
        assert say(command, arguments, given, keys).startswith(f"{given[2]}: ")


def test_every_command_that_takes_a_url_is_tried() -> None:
    takers = {
        f"{group.name} {command.name}" if group is not command else str(command.name)
        for group in (commands.server, commands.dev, commands.db, commands.secret)
        for command in (group.commands.values() if isinstance(group, click.Group) else [group])
        if any(parameter.name == "database_url" for parameter in command.params)
    }
    assert takers == COMMANDS.keys()


def say(command: click.Command, arguments: list[str], given: Given, keys: Path) -> str:
    """Run a command, and return the one sentence that it ends with."""
    environment, options, _ = given
    result = CliRunner().invoke(
        command,
        [*arguments, *options],
        env={**environment, "TINKWELL_SECRET_KEYS": str(keys)},
        standalone_mode=False,
    )
    assert isinstance(result.exception, click.ClickException), (given, result.output, result.exception)
    return result.exception.message
