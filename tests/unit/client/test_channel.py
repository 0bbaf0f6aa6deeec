"""Addresses and encryption."""

from pathlib import Path

import grpc
import pytest
import trustme

import tinkwell.client
from tinkwell.client import TLS, channel, errors, testing


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("localhost:50051", "localhost:50051"),
        ("localhost", "localhost:50051"),
        ("10.0.0.1:7", "10.0.0.1:7"),
        ("[::1]:50051", "[::1]:50051"),
        ("[::1]", "[::1]:50051"),
        ("tinkwell.example", "tinkwell.example:50051"),
        ("unix:/run/tinkwell.sock", "unix:/run/tinkwell.sock"),
        ("dns:///tinkwell.example:443", "dns:///tinkwell.example:443"),
        ("10.0.0.1,10.0.0.2:7", "ipv4:10.0.0.1:50051,10.0.0.2:7"),
        ("[::1]:7, [::2]", "ipv6:[::1]:7,[::2]:50051"),
    ],
)
def test_an_address_gets_the_port_that_it_lacks(given: str, used: str) -> None:
    assert channel.check_address(given) == used


@pytest.mark.parametrize(
    "address",
    [
        *("", "http://localhost:50051", "localhost:50051/", "::1", "a b:1", "localhost:http"),
        *("10.0.0.1,", "a.example,b.example", "10.0.0.1,[::1]"),
    ],
)
def test_what_gRPC_would_misread_is_refused(address: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        channel.check_address(address)
    assert caught.value.violations[0].field == "address"


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


def server_credentials(
    authority: trustme.CA, name: str, *, asks_for_certificate: bool = False
) -> grpc.ServerCredentials:
    issued = authority.issue_cert(name)
    chain = b"".join(pem.bytes() for pem in issued.cert_chain_pems)
    return grpc.ssl_server_credentials(
        [(issued.private_key_pem.bytes(), chain)],
        root_certificates=authority.cert_pem.bytes() if asks_for_certificate else None,
        require_client_auth=asks_for_certificate,
    )


async def test_an_encrypted_server_is_trusted_by_its_authority(authority: trustme.CA, ca_file: Path) -> None:
    async with (
        testing.FakeServer(credentials=server_credentials(authority, "localhost")) as server,
        tinkwell.client.connect(server.address, tls=TLS(ca=ca_file)) as client,
    ):
        assert [machine async for machine in client.hardware.all()] == []


async def test_the_name_in_a_certificate_may_be_another_than_the_host(authority: trustme.CA, ca_file: Path) -> None:
    tls = TLS(ca=ca_file, server_name="tinkwell.example")
    async with (
        testing.FakeServer(credentials=server_credentials(authority, "tinkwell.example")) as server,
        tinkwell.client.connect(server.address, tls=tls) as client,
    ):
        await client.wait_ready(5)


@pytest.mark.parametrize("tls", [None, TLS()], ids=["plain", "unknown authority"])
async def test_without_trust_there_is_no_connection(authority: trustme.CA, tls: TLS | None) -> None:
    async with (
        testing.FakeServer(credentials=server_credentials(authority, "localhost")) as server,
        tinkwell.client.connect(server.address, tls=tls) as client,
    ):
        with pytest.raises(errors.Unavailable, match=server.address):
            await client.hardware.by_id("m1")


async def test_a_client_may_prove_itself_by_a_certificate(authority: trustme.CA, ca_file: Path, tmp_path: Path) -> None:
    issued = authority.issue_cert("worker@example")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    issued.cert_chain_pems[0].write_to_path(str(cert))
    issued.private_key_pem.write_to_path(str(key))
    credentials = server_credentials(authority, "localhost", asks_for_certificate=True)
    async with testing.FakeServer(credentials=credentials) as server:
        async with tinkwell.client.connect(server.address, tls=TLS(ca=ca_file)) as stranger:
            with pytest.raises(errors.Unavailable):
                await stranger.hardware.by_id("m1")
        async with tinkwell.client.connect(server.address, tls=TLS(ca=str(ca_file), cert=cert, key=key)) as client:
            await client.wait_ready(5)


async def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidField, match=r"tls\.ca: .*missing\.pem: No such file"):
        tinkwell.client.connect("localhost:1", tls=TLS(ca=tmp_path / "missing.pem"))


@pytest.mark.parametrize("tls", [TLS(cert="cert.pem"), TLS(key="key.pem")])
async def test_a_certificate_needs_its_key(tls: TLS) -> None:
    with pytest.raises(errors.InvalidField, match="cert and key belong together"):
        tinkwell.client.connect("localhost:1", tls=tls)


async def test_clients_spread_over_a_list_of_servers() -> None:
    async with testing.FakeServer() as first, testing.FakeServer() as second:
        for _ in range(100):
            async with tinkwell.client.connect(both(first, second)) as client:
                assert [machine async for machine in client.hardware.all()] == []
            if first.calls and second.calls:
                break
        else:
            pytest.fail("a hundred clients went to the same server")


async def test_a_client_of_several_servers_goes_on_with_those_that_answer() -> None:
    async with testing.FakeServer() as first:
        async with testing.FakeServer() as second:
            client = tinkwell.client.connect(both(first, second))
            await client.wait_ready(5)
        for _ in range(10):
            assert [machine async for machine in client.hardware.all()] == []
        await client.close()


def both(first: testing.FakeServer, second: testing.FakeServer) -> str:
    return ",".join(server.address.replace("localhost", "127.0.0.1") for server in (first, second))


async def test_several_servers_prove_themselves_by_one_name(authority: trustme.CA, ca_file: Path) -> None:
    async with testing.FakeServer(credentials=server_credentials(authority, "tinkwell.example")) as server:
        with pytest.raises(errors.InvalidField, match=r"tls\.server_name: must say which name"):
            tinkwell.client.connect(both(server, server), tls=TLS(ca=ca_file))
        tls = TLS(ca=ca_file, server_name="tinkwell.example")
        async with tinkwell.client.connect(both(server, server), tls=tls) as client:
            await client.wait_ready(5)
