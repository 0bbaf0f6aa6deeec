"""Parameters of the database's URL, on a real PostgreSQL: both ways to connect take them, and every command."""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import sqlalchemy
import trustme

from support import connecting, process, tcp_postgres
from support.tcp_postgres import Site
from tinkwell.core import errors
from tinkwell.server.app.dev import place
from tinkwell.server.database import engine, readiness, schema

PASSWORD = "a/password with %@?"
ESCAPED = "a%2Fpassword%20with%20%25%40%3F"
WITH_TLS = tcp_postgres.binaries_with_tls()
needs_tls = pytest.mark.skipif(WITH_TLS is None, reason="needs a PostgreSQL with OpenSSL, such as Debian's")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plain() -> AsyncIterator[Site]:
    """One without TLS, with the schema."""
    with place.temporary() as state_dir:
        async with tcp_postgres.running(state_dir, password=PASSWORD) as site:
            await schema.upgrade(f"postgresql://tinkwell@/postgres?host={site.socket}&port={site.port}")
            yield site


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secure(authority: trustme.CA) -> AsyncIterator[Site]:
    """One that takes nothing but TLS, with the schema."""
    with place.temporary() as state_dir:
        async with tcp_postgres.running(state_dir, password=PASSWORD, bin_dir=WITH_TLS, tls=authority) as site:
            await schema.upgrade(f"postgresql://tinkwell@/postgres?host={site.socket}&port={site.port}")
            yield site


@pytest.fixture
def ca(authority: trustme.CA, tmp_path: Path) -> Path:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return tmp_path / "ca.pem"


async def run(tmp_path: Path, url: str, *arguments: str) -> tuple[int, str]:
    environment = {"TINKWELL_DATABASE_URL": url, "TINKWELL_THROWAWAY_DATABASE": "true"}
    async with process.running(*arguments, log=tmp_path / "command.log", environment=environment) as command:
        return await command.wait(deadline_seconds=60), command.output


@pytest.mark.parametrize(
    "parameters",
    [
        {"sslmode": "disable"},
        {"sslmode": "allow"},
        {"sslmode": "prefer"},
        {"connect_timeout": "5", "options": "-c%20geqo%3Doff%20-c%20application_name%3Dlost"},
        {"target_session_attrs": "read-write", "channel_binding": "prefer", "fallback_application_name": "x"},
        {"client_encoding": "UTF8", "gssencmode": "prefer", "sslcompression": "0", "keepalives": ""},
    ],
)
async def test_parameters_are_taken_in_every_way_of_connecting(plain: Site, parameters: dict[str, str]) -> None:
    await connecting.in_every_way(plain.url(password=ESCAPED, **parameters))


async def test_a_setting_in_options_holds_for_the_session(plain: Site) -> None:
    url = plain.url(password=ESCAPED, options="-c%20geqo%3Doff%20-c%20jit%3Don")
    pool = engine.create(url, pool_size=1)
    async with pool.connect() as connection:
        shown = [(await connection.execute(sqlalchemy.text(f"SHOW {name}"))).scalar_one() for name in ("geqo", "jit")]
    await pool.dispose()
    # Of what the server needs to be as it is, its own word counts.
    assert shown == ["off", "off"]


async def test_a_password_is_found_in_a_file(plain: Site, tmp_path: Path) -> None:
    (tmp_path / "pgpass").write_text(f"*:*:*:tinkwell:{PASSWORD}\n")
    (tmp_path / "pgpass").chmod(0o600)
    url = f"postgresql://tinkwell@127.0.0.1:{plain.port}/postgres?passfile={tmp_path}/pgpass"
    await connecting.in_every_way(url)


async def test_the_first_host_that_answers_is_taken_however_several_are_written(plain: Site) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        dead, login = unheard.getsockname()[1], f"tinkwell:{ESCAPED}"
        for url in (
            f"postgresql://{login}@127.0.0.1:{dead},127.0.0.1:{plain.port}/postgres",
            f"postgresql://{login}@/postgres?host=127.0.0.1:{dead}&host=127.0.0.1:{plain.port}",
            f"postgresql://{login}@/postgres?host=127.0.0.1,{plain.socket}&port={dead},{plain.port}",
        ):
            await connecting.in_every_way(url)


@pytest.mark.parametrize(
    ("mode", "command"),
    [
        ("require", ("db", "current")),
        ("verify-ca", ("db", "upgrade")),
        ("verify-full", ("db", "maintain")),
        ("require", ("server",)),
    ],
)
async def test_tls_that_a_server_does_not_do_is_one_clear_error(
    plain: Site, ca: Path, tmp_path: Path, mode: str, command: tuple[str, ...]
) -> None:
    ports = ("--port", "0", "--http-port", "0") if command == ("server",) else ()
    url = plain.url(password=ESCAPED, sslmode=mode, sslrootcert=str(ca))
    code, output = await run(tmp_path, url, *command, *ports)
    (line,) = output.splitlines()
    assert code == 1
    assert line.startswith("Error: ")
    assert line.endswith(
        f'PostgreSQL server at "127.0.0.1:{plain.port}" rejected SSL upgrade: '
        "it does not do TLS, so sslmode can only be disable, allow or prefer"
    )


async def test_a_local_socket_needs_no_tls_whatever_is_demanded(plain: Site) -> None:
    await connecting.in_every_way(
        f"postgresql://tinkwell@/postgres?host={plain.socket}&port={plain.port}&sslmode=require"
    )


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_server_runs_with_parameters_in_its_url(plain: Site, tmp_path: Path, workers: str) -> None:
    environment = {
        "TINKWELL_DATABASE_URL": plain.url(password=ESCAPED, sslmode="prefer", connect_timeout="5"),
        "TINKWELL_THROWAWAY_DATABASE": "true",
    }
    arguments = ("server", "--port", "0", "--http-port", "0", "--workers", workers)
    async with process.running(*arguments, log=tmp_path / "server.log", environment=environment) as command:
        await command.line("^HTTP ")
        assert await command.stop() == 0


@pytest.mark.parametrize(
    ("parameter", "sentence"),
    [
        ("keepalives=1", "its parameter keepalives is not supported: leave it out, and set it in the kernel"),
        ("sslmode=on", "its parameter sslmode must be disable, allow,"),
        ("sslmod=require", "its parameter sslmod is none that PostgreSQL knows; did you mean sslmode?"),
        ("sslrootcert=/absent.pem", "the file that its parameter sslrootcert names cannot be read"),
    ],
)
@pytest.mark.parametrize("command", [("db", "current"), ("server", "--workers", "2")])
async def test_a_parameter_that_cannot_be_had_is_one_clear_error(
    tmp_path: Path, parameter: str, sentence: str, command: tuple[str, ...]
) -> None:
    code, output = await run(tmp_path, f"postgresql://u:secret@h/d?{parameter}", *command)
    (line,) = output.splitlines()
    assert code == 1
    assert line.startswith(f"Error: TINKWELL_DATABASE_URL: {sentence}")


@needs_tls
@pytest.mark.parametrize("mode", ["allow", "prefer", "require", "verify-ca"])
async def test_tls_is_used_in_every_way_of_connecting(secure: Site, ca: Path, mode: str) -> None:
    await connecting.in_every_way(secure.url(password=ESCAPED, sslmode=mode, sslrootcert=str(ca)))


@needs_tls
async def test_the_host_in_a_certificate_is_checked_when_that_is_demanded(
    secure: Site, ca: Path, tmp_path: Path
) -> None:
    demanded = {"password": ESCAPED, "sslmode": "verify-full", "sslrootcert": str(ca)}
    await connecting.in_every_way(secure.url(host="localhost", **demanded))
    with pytest.raises(errors.Unavailable, match="certificate is not valid for"):
        await readiness.wait(secure.url(**demanded), allow_unsafe=True)
    code, output = await run(tmp_path, secure.url(**demanded), "db", "current")
    assert (code, "Traceback" in output) == (1, False)
    assert "certificate is not valid for '127.0.0.1'" in output


@needs_tls
async def test_a_server_of_another_authority_is_refused_at_once(secure: Site, tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    url = secure.url(password=ESCAPED, host="localhost", sslmode="verify-ca", sslrootcert=f"{tmp_path}/other.pem")
    with pytest.raises(errors.Unavailable, match="certificate verify failed"):
        await readiness.wait(url, allow_unsafe=True)


@needs_tls
async def test_what_the_system_trusts_can_be_asked_for(secure: Site, ca: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ca))
    await connecting.in_every_way(secure.url(password=ESCAPED, host="localhost", sslrootcert="system"))


@needs_tls
async def test_without_tls_a_server_that_demands_it_says_so(secure: Site) -> None:
    with pytest.raises(errors.Unavailable, match="no encryption"):
        await readiness.wait(secure.url(password=ESCAPED, sslmode="disable"), allow_unsafe=True)
