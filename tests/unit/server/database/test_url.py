"""What a database's URL may say: each parameter that PostgreSQL documents is understood, or refused by its name."""

import re
from pathlib import Path
from typing import Any

import pytest

from tinkwell.server import database_url

SECRET = "c4n4ry-p4ssw0rd"
SESSION = {"application_name": "test"}

# Every parameter of libpq-connect in the manual of PostgreSQL 18, and two of other releases. The second column is a
# value that is taken, None where there is none; the third what the driver is then told.
PARAMETERS: list[tuple[str, str | None, dict[str, Any]]] = [
    ("host", "db", {"host": ["db"]}),
    ("hostaddr", None, {}),
    ("port", "5433", {"port": [5433]}),
    ("dbname", "tinkwell", {"database": "tinkwell"}),
    ("user", "tink", {"user": "tink"}),
    ("password", "p w", {"password": "p w"}),
    ("passfile", "/run/pgpass", {"passfile": "/run/pgpass"}),
    ("require_auth", None, {}),
    ("channel_binding", "prefer", {}),
    ("connect_timeout", "7", {"timeout": 7}),
    ("client_encoding", "UTF8", {}),
    ("options", "-c geqo=off", {"server_settings": {"options": "-c geqo=off", **SESSION}}),
    ("application_name", None, {}),
    ("fallback_application_name", "anything", {}),
    ("keepalives", None, {}),
    ("keepalives_idle", None, {}),
    ("keepalives_interval", None, {}),
    ("keepalives_count", None, {}),
    ("tcp_user_timeout", None, {}),
    ("replication", "false", {}),
    ("gssencmode", "disable", {}),
    ("sslmode", "verify-full", {"dsn": "postgresql://?sslmode=verify-full"}),
    ("sslnegotiation", "postgres", {}),
    ("sslcompression", "0", {}),
    ("sslcert", "/c.pem", {"dsn": "postgresql://?sslcert=/c.pem"}),
    ("sslkey", "/k+1.pem", {"dsn": "postgresql://?sslkey=/k%2B1.pem"}),
    ("sslkeylogfile", None, {}),
    ("sslpassword", "p&w", {"dsn": "postgresql://?sslpassword=p%26w"}),
    ("sslcertmode", "allow", {}),
    ("sslrootcert", "/ca.pem", {"dsn": "postgresql://?sslrootcert=/ca.pem"}),
    ("sslcrl", "/crl.pem", {"dsn": "postgresql://?sslcrl=/crl.pem"}),
    ("sslcrldir", None, {}),
    ("sslsni", "1", {}),
    ("requirepeer", None, {}),
    ("ssl_min_protocol_version", "TLSv1.3", {"dsn": "postgresql://?ssl_min_protocol_version=TLSv1.3"}),
    ("ssl_max_protocol_version", "TLSv1.2", {"dsn": "postgresql://?ssl_max_protocol_version=TLSv1.2"}),
    ("min_protocol_version", "3.0", {}),
    ("max_protocol_version", "latest", {}),
    ("krbsrvname", "pg", {"krbsrvname": "pg"}),
    ("gsslib", "gssapi", {}),
    ("gssdelegation", "0", {}),
    ("scram_client_key", None, {}),
    ("scram_server_key", None, {}),
    ("service", "main", {"service": "main"}),
    ("target_session_attrs", "read-write", {}),
    ("load_balance_hosts", "disable", {}),
    ("oauth_issuer", None, {}),
    ("oauth_client_id", None, {}),
    ("oauth_client_secret", None, {}),
    ("oauth_scope", None, {}),
    ("requiressl", None, {}),
    ("servicefile", None, {}),
]
# Those whose value is taken as it is.
FREE = frozenset(
    ["host", "dbname", "user", "password", "passfile", "options", "fallback_application_name", "service", "krbsrvname"]
) | frozenset(["sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl"])


def arguments(url: str) -> dict[str, Any]:
    return database_url.parse(url).arguments(SESSION, connect_seconds=10)


def refusal(url: str) -> str:
    with pytest.raises(database_url.InvalidUrl) as caught:
        database_url.parse(url)
    return str(caught.value)


@pytest.mark.parametrize(("name", "value", "told"), [each for each in PARAMETERS if each[1] is not None])
def test_a_parameter_is_understood(name: str, value: str, told: dict[str, Any]) -> None:
    escaped = value.replace("&", "%26").replace(" ", "%20")
    assert arguments(f"postgresql://?{name}={escaped}") == {"timeout": 10, "server_settings": SESSION, **told}


@pytest.mark.parametrize("name", [name for name, value, _ in PARAMETERS if value is None])
def test_a_parameter_that_cannot_be_had_is_refused_by_its_name_with_what_to_do(name: str) -> None:
    sentence = refusal(f"postgresql://u@h/d?{name}={SECRET}")
    assert sentence.startswith(f"its parameter {name} is not supported: ")
    assert SECRET not in sentence


@pytest.mark.parametrize("name", [name for name, value, _ in PARAMETERS if value is not None and name not in FREE])
def test_a_value_that_cannot_be_had_is_refused_by_its_parameters_name(name: str) -> None:
    sentence = refusal(f"postgresql://u@h/d?{name}={SECRET}")
    assert f"parameter {name} " in sentence or name == "port"
    assert SECRET not in sentence


def test_no_parameter_is_known_here_that_is_not_in_the_table() -> None:
    assert database_url.PARAMETERS - {"database"} == {name for name, _, _ in PARAMETERS}


def test_the_manual_of_settings_names_every_parameter() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "database-url.md").read_text()
    named = set(re.findall(r"`([a-z_]+)(?:=[^`]*)?`", page))
    assert {name for name, _, _ in PARAMETERS} - named == set()


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"])
def test_every_mode_of_tls_reaches_the_driver(mode: str) -> None:
    assert arguments(f"postgresql://h?sslmode={mode}")["dsn"] == f"postgresql://?sslmode={mode}"


@pytest.mark.parametrize(
    ("url", "hosts", "ports"),
    [
        ("postgresql://db/d", ["db"], None),
        ("postgres://db:6000/d", ["db"], [6000]),
        ("postgresql:///d", None, None),
        ("postgresql://", None, None),
        ("postgresql://u@/d?host=/run/postgresql", ["/run/postgresql"], None),
        ("postgresql://u@/d?host=/run/postgresql&port=6000", ["/run/postgresql"], [6000]),
        ("postgresql://u@:6000/d?host=/run/postgresql", ["/run/postgresql"], [6000]),
        ("postgresql://%2Frun%2Fpostgresql/d", ["/run/postgresql"], None),
        ("postgresql://[::1]:6000/d", ["::1"], [6000]),
        ("postgresql://[::1]/d", ["::1"], None),
        ("postgresql:///d?host=::1", ["::1"], None),
        ("postgresql:///d?host=A:1", ["A"], [1]),
        ("postgresql:///d?host=A:1&host=B:2", ["A", "B"], [1, 2]),
        ("postgresql:///d?host=A&host=B:2", ["A", "B"], [5432, 2]),
        ("postgresql:///d?host=A,B", ["A", "B"], None),
        ("postgresql:///d?host=A,B&port=1,2", ["A", "B"], [1, 2]),
        ("postgresql:///d?host=A,B&port=1", ["A", "B"], [1]),
        ("postgresql://A:1,B:2/d", ["A", "B"], [1, 2]),
        ("postgresql://A,[::1]:2/d", ["A", "::1"], [5432, 2]),
        ("postgresql://A:1/d?host=B&port=2", ["B"], [2]),
        ("postgresql://A:1/d?port=2", ["A"], [2]),
        ("postgresql:///d?port=2", None, [2]),
    ],
)
def test_hosts_and_ports_are_found_wherever_they_stand(
    url: str, hosts: list[str] | None, ports: list[int] | None
) -> None:
    found = arguments(url)
    assert (found.get("host"), found.get("port")) == (hosts, ports)


@pytest.mark.parametrize(
    ("login", "user", "password"),
    [
        ("u", "u", None),
        ("u:p", "u", "p"),
        ("u:", "u", None),
        ("u:p%40%2F%3A", "u", "p@/:"),
        ("u:p:q", "u", "p:q"),
        ("u:p/q", "u", "p/q"),
        ("u:p?q#r", "u", "p?q#r"),
        ("u:12/34", "u", "12/34"),
        ("u@server:p", "u@server", "p"),
        ("u@server", "u@server", None),
        ("u:p+q", "u", "p+q"),
    ],
)
def test_names_and_passwords_are_taken_escaped_or_not(login: str, user: str, password: str | None) -> None:
    found = arguments(f"postgresql://{login}@db:6000/d?connect_timeout=3")
    expected = {"user": user, "password": password, "host": ["db"], "port": [6000], "database": "d", "timeout": 3}
    assert {name: found.get(name) for name in expected} == expected


def test_a_parameter_wins_over_the_same_thing_before_it() -> None:
    found = arguments("postgresql://u:p@h/d?user=v&password=q&dbname=e")
    assert (found["user"], found["password"], found["database"]) == ("v", "q", "e")


def test_an_at_sign_in_a_parameter_is_no_end_of_a_password() -> None:
    assert arguments("postgresql://h:6000/d?passfile=/a@b") == {
        "host": ["h"],
        "port": [6000],
        "database": "d",
        "passfile": "/a@b",
        "timeout": 10,
        "server_settings": SESSION,
    }


def test_the_settings_of_a_session_win_over_those_of_the_url_by_standing_behind_them() -> None:
    settings = arguments("postgresql://h?options=-c%20statement_timeout%3D1")["server_settings"]
    assert list(settings) == ["options", "application_name"]


def test_the_authorities_that_the_system_trusts_are_asked_for_by_their_word() -> None:
    for url in ("postgresql://h?sslrootcert=system", "postgresql://h?sslmode=verify-full&sslrootcert=system"):
        found = arguments(url)
        assert (found["ssl"], "dsn" in found) == (True, False)


def test_the_way_of_jdbc_to_demand_tls_is_understood() -> None:
    assert arguments("postgresql://h?ssl=true")["dsn"] == "postgresql://?sslmode=require"


def test_tls_from_the_first_byte_on_needs_a_mode_that_demands_tls() -> None:
    assert arguments("postgresql://h?sslnegotiation=direct&sslmode=require")["direct_tls"] is True
    assert "sslnegotiation=direct needs sslmode=require" in refusal("postgresql://h?sslnegotiation=direct")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "it must look like postgresql://USER:PASSWORD@HOST/DATABASE"),
        ("mysql://u@h/d", "it must look like postgresql://"),
        (f"postgresql://u:{SECRET}@{SECRET}@h/d", "it must look like postgresql://"),
        (f"postgresql://u:p@{SECRET}/w@h:5433/d", "it must look like postgresql://"),
        (f"postgresql://u:{SECRET}", "a port in it is no number from 1 to 65535"),
        (f"postgresql://u:{SECRET}@h:0/d", "a port in it is no number"),
        (f"postgresql://u@h/d?{SECRET}", "it must look like postgresql://USER:PASSWORD@HOST/DATABASE?NAME=VALUE"),
        (
            "postgresql://u@h/d?sslmod=require",
            "its parameter sslmod is none that PostgreSQL knows; did you mean",
        ),
        (
            "postgresql://u@h/d?search_path=x",
            "is none that PostgreSQL knows; a setting of the session is given",
        ),
        (f"postgresql://u@h/d?{SECRET}=x", "one of its parameters has a name that PostgreSQL does not know"),
        ("postgresql://u@h/d?sslmode=allow&sslmode=require", "its parameter sslmode is given more than once"),
        (
            "postgresql://u@h/d?sslmode=on",
            "sslmode must be disable, allow, prefer, require, verify-ca or",
        ),
        ("postgresql://u@h/d?connect_timeout=0", "connect_timeout must be a number of seconds from 1 to 600"),
        ("postgresql://u@h/d?connect_timeout=601", "connect_timeout must be a number of seconds"),
        (
            "postgresql://u@h/d?target_session_attrs=standby",
            "can only be any, primary or read-write: a server writes, and always",
        ),
        (
            "postgresql://u@h/d?channel_binding=require",
            "channel_binding can only be disable or prefer: the",
        ),
        ("postgresql://u@h/d?sslrootcert=system&sslmode=require", "sslrootcert=system needs sslmode=verify-full"),
        ("postgresql://u@h/d?sslrootcert=system&sslcert=/c", "sslcert cannot be had together with sslrootcert=system"),
        ("postgresql://u@/d?host=A:1&port=2", "port cannot be had together with ports in its parameter host"),
        ("postgresql://u@/d?host=A,B,C&port=1,2", "port must be one number, or as many as there are hosts"),
        ("postgresql://A,,B/d", "one of its hosts is empty"),
        ("postgresql://u@[::1/d", "one of its hosts cannot be read"),
        ("postgresql://u@::1/d", "one of its hosts cannot be read"),
        ("postgresql://u@h/d%00", "it holds a zero byte"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence_that_shows_no_value(url: str, sentence: str) -> None:
    said = refusal(url)
    assert sentence in said
    assert SECRET not in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (f"postgresql://u:{SECRET}@h:6000/d?sslpassword={SECRET}", "postgresql://u@h:6000/d"),
        (f"postgresql:///d?user=u&password={SECRET}&host=/run&port=6000", "postgresql://u@/d?host=/run:6000"),
        ("postgresql://A:1,[::1]:2/d", "postgresql://A:1,[::1]:2/d"),
        ("postgresql://A,B/d?port=7", "postgresql://A:7,B:7/d"),
        ("postgresql://?service=main", "postgresql:///?service=main"),
        (f"postgresql://u:1/{SECRET}@h/d", "postgresql://u@h/d"),
    ],
)
def test_people_are_shown_where_it_leads_and_no_secret(url: str, place: str) -> None:
    found = database_url.parse(url)
    assert found.place == place
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("postgresql://u:p@h/d", ["p"]),
        ("postgresql://u@h/d?password=p&sslpassword=q", ["p", "q"]),
        ("postgresql://u@h/d", []),
        ("postgresql://tinkwell:tinkwell@h/d", []),
        ("postgresql://u:tinkwell@h/tinkwell", []),
    ],
)
def test_it_tells_its_secrets(url: str, secrets: list[str]) -> None:
    assert database_url.parse(url).secrets == secrets
