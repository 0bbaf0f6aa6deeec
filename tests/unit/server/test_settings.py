"""Where settings come from, which one wins, and what is said about a wrong one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rich_click as click

from support import canary
from tinkwell.cli.main import main
from tinkwell.cli.shell.command import Deferred
from tinkwell.core import access
from tinkwell.core.process_log import redaction
from tinkwell.server import service_link, settings

URL = "postgresql://user:hidden@db/tinkwell"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [*settings.Settings.model_fields, "config"]:
        monkeypatch.delenv(f"TINKWELL_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "tinkwell.toml") -> Path:
    Path(name).write_text(text)
    return Path(name)


def test_an_option_wins_over_the_environment_and_the_environment_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write(f'database_url = "{URL}"\nport = 1\nhttp_port = 1\npool_size = 1\n')
    monkeypatch.setenv("TINKWELL_PORT", "2")
    monkeypatch.setenv("TINKWELL_HTTP_PORT", "2")
    chosen = settings.load(port=3, http_port=None)
    assert (chosen.port, chosen.http_port, chosen.pool_size) == (3, 2, 1)


def test_the_file_named_by_the_option_wins_over_the_one_named_by_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("port = 1", "tinkwell.toml")
    write("port = 2", "environment.toml")
    write("port = 3", "option.toml")
    assert settings.load(database_url=URL).port == 1
    monkeypatch.setenv("TINKWELL_CONFIG", "environment.toml")
    assert settings.load(database_url=URL).port == 2
    assert settings.load(Path("option.toml"), database_url=URL).port == 3


def test_tokens_come_from_a_table_of_the_file_or_from_json_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    write('[tokens]\nalice = "one"\n')
    assert settings.load(database_url=URL).tokens["alice"].get_secret_value() == "one"
    monkeypatch.setenv("TINKWELL_TOKENS", '{"bob": "two"}')
    tokens = settings.load(database_url=URL).tokens
    assert {name: token.get_secret_value() for name, token in tokens.items()} == {"bob": "two"}


def test_roles_come_like_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    write('[tokens]\nalice = "one"\nbob = "two"\n[roles]\nbob = "reader"\n')
    assert settings.load(database_url=URL).roles == {"bob": access.Role.READER}
    monkeypatch.setenv("TINKWELL_ROLES", '{"alice": "agent", "bob": "operator"}')
    assert settings.load(database_url=URL).roles == {"alice": access.Role.AGENT, "bob": access.Role.OPERATOR}


def test_a_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKWELL_TOKENS", '{"bob": "hidden"}')
    assert "hidden" not in repr(settings.load(database_url=URL))


def test_variables_of_other_components_are_not_taken_for_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SERVER", "TOKEN", "TLS_CA", "TLS_CERT", "PG_BIN", "AGENT_FOR", "PROVISIONER_NAME"):
        monkeypatch.setenv(f"TINKWELL_{name}", "x")
    assert settings.load(database_url=URL).server_cert is None


def variables_of(command: click.Command) -> Iterator[str]:
    """Find the variables that a command and all below it read."""
    for param in command.params:
        yield from [param.envvar] if isinstance(param.envvar, str) else param.envvar or []
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from variables_of(found.component.load() if isinstance(found, Deferred) else found)


def test_no_variable_of_any_command_is_taken_for_a_setting_that_is_misspelt(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = set(variables_of(main))
    # Neither is what is told of services beside it taken for an option of any.
    assert not any(service_link.is_one(name, "tcp://10.96.0.7:42113") for name in variables)
    assert {"TINKWELL_AUTOMATION", "TINKWELL_DOCKER_PULL", "TINKWELL_SERVER", "TINKWELL_AGENT_ID"} <= variables
    for name in variables - {f"TINKWELL_{name.upper()}" for name in settings.Settings.model_fields}:
        monkeypatch.setenv(name, "x")
    assert settings.load(database_url=URL).port == 50_051


# Of the services tinkwell, tinkwell-http, tinkwell-tink and tinkwell-database, as Kubernetes tells of them.
SERVICES = {
    "SERVICE_HOST": "10.96.0.7",
    "SERVICE_PORT": "42113",
    "SERVICE_PORT_GRPC": "42113",
    "PORT": "tcp://10.96.0.7:42113",
    "PORT_42113_TCP": "tcp://10.96.0.7:42113",
    "PORT_42113_TCP_PROTO": "tcp",
    "PORT_42113_TCP_PORT": "42113",
    "PORT_42113_TCP_ADDR": "10.96.0.7",
    "PORT_69_UDP": "udp://10.96.0.7:69",
    "HTTP_SERVICE_HOST": "fd00::7",
    "HTTP_PORT": "tcp://[fd00::7]:80",
    "TINK_PORT": "udp://10.96.0.9:42113",
    "DATABASE_SERVICE_HOST": "10.96.0.8",
    "DATABASE_PORT": "tcp://10.96.0.8:5432",
    "DATABASE_PORT_5432_TCP_ADDR": "10.96.0.8",
    "SERVER_PORT": "sctp://10.96.0.8:5432",
    "NAME": "/web/tinkwell",
    "ENV_PATH": "/usr/bin",
}


def test_what_kubernetes_says_of_services_beside_a_server_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    write("http_port = 4")
    for name, value in SERVICES.items():
        monkeypatch.setenv(f"TINKWELL_{name}", value)
    chosen = settings.load(database_url=URL)
    assert (chosen.port, chosen.http_port, chosen.tink_port) == (50_051, 4, None)
    assert settings.source("http_port") == "http_port in tinkwell.toml"


@pytest.mark.parametrize("name", ["HTTP_PROT", "SERVICE_HOSTS", "PORT_42113", "PORT_42113_TCP_HOST", "ENV"])
def test_a_setting_that_is_misspelt_is_no_service(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"TINKWELL_{name}", "x")
    with pytest.raises(settings.InvalidSettings, match=f"TINKWELL_{name}: there is no such setting"):
        settings.load(database_url=URL)


@pytest.mark.parametrize("field", settings.Settings.model_fields)
def test_no_setting_is_called_like_what_is_told_of_services(field: str) -> None:
    assert not service_link.is_one(f"TINKWELL_{field.upper()}", "4")


@pytest.mark.parametrize(
    ("file", "environment", "options", "message"),
    [
        ("", {}, {}, "TINKWELL_DATABASE_URL is not set: set it, pass --database-url, or put database_url into"),
        ("", {}, {"database_url": "mysql://x"}, "--database-url: it must look like postgresql://"),
        ("", {"DATABASE_URL": ""}, {}, "TINKWELL_DATABASE_URL: it must look like postgresql://"),
        ("", {"HTTP_PROT": "1"}, {}, "TINKWELL_HTTP_PROT: there is no such setting; did you mean TINKWELL_HTTP_PORT?"),
        ("", {"TOKENS__ALICE": "x"}, {}, "TINKWELL_TOKENS__ALICE: there is no such setting"),
        ("prot = 1", {}, {}, "prot in tinkwell.toml: there is no such setting; did you mean port?"),
        ("[tls]\ncert = 1", {}, {}, "tls in tinkwell.toml: there is no such setting"),
        ("port = ", {}, {}, "tinkwell.toml: Invalid value"),
        ("", {"CONFIG": "absent.toml"}, {}, "absent.toml: No such file or directory"),
        ("port = 1.5", {}, {}, "port in tinkwell.toml: Input should be a valid integer"),
        ("port = 70000", {}, {}, "port in tinkwell.toml: Input should be less than or equal to 65535"),
        ("", {"PORT": "http"}, {}, "TINKWELL_PORT: Input should be a valid integer"),
        ("", {"LOG_FORMAT": "xml"}, {}, "TINKWELL_LOG_FORMAT: Input should be 'text' or 'json'"),
        ("", {"TOKENS": "{"}, {}, "TINKWELL_TOKENS: it must be a JSON object"),
        ("", {"TOKENS": "[]"}, {}, "TINKWELL_TOKENS: Input should be a valid dictionary"),
        ("", {"TOKENS": '{"a": 1}'}, {}, "TINKWELL_TOKENS, a: Input should be a valid string"),
        ("", {"ROLES": "bob=reader"}, {}, 'TINKWELL_ROLES: it must be a JSON object such as {"alice": "reader"}'),
        (
            "",
            {"ROLES": '{"a": "root"}'},
            {},
            "TINKWELL_ROLES, a: Input should be 'admin', 'operator', 'reader' or 'agent'",
        ),
        ("[roles]\nb = 'reader'", {}, {}, "roles: b: nobody of this name has a token; add one to tokens"),
        ("[tokens]\na = ''", {}, {}, "tokens in tinkwell.toml: a token must not be empty"),
        ("[tokens]\na = 'x'\nb = 'x'", {}, {}, "tokens in tinkwell.toml: two names have the same token"),
        ("", {"SERVER_CERT": "absent.pem"}, {}, "TINKWELL_SERVER_CERT: Path does not point to a file"),
        ("server_cert = 'tinkwell.toml'", {}, {}, "server_cert and server_key belong together"),
        ("client_ca = 'tinkwell.toml'", {}, {}, "client_ca needs server_cert and server_key"),
        ("", {"TRUSTED_PROXIES": "10.0.0.1/8"}, {}, "TINKWELL_TRUSTED_PROXIES: 10.0.0.1/8 has host bits set; give"),
        (
            "",
            {"WORKFLOW_RETENTION_SECONDS": "59"},
            {},
            "TINKWELL_WORKFLOW_RETENTION_SECONDS: it must be 60 or more, or 0",
        ),
        (
            "workflow_retention_seconds = -1",
            {},
            {},
            "workflow_retention_seconds in tinkwell.toml: Input should be greater",
        ),
        ("", {"TRUSTED_PROXIES": "a proxy"}, {}, "TINKWELL_TRUSTED_PROXIES: 'a proxy' does not appear to be"),
    ],
)
def test_a_wrong_setting_is_named_with_the_place_it_came_from(
    monkeypatch: pytest.MonkeyPatch, file: str, environment: dict[str, str], options: dict[str, Any], message: str
) -> None:
    write(file)
    for name, value in environment.items():
        monkeypatch.setenv(f"TINKWELL_{name}", value)
    if "is not set" not in message and "DATABASE_URL" not in environment:
        options = {"database_url": URL, **options}
    with pytest.raises(settings.InvalidSettings) as caught:
        settings.load(**options)
    assert message in str(caught.value)


def test_every_wrong_setting_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKWELL_PORT", "x")
    monkeypatch.setenv("TINKWELL_POOL_SIZE", "0")
    with pytest.raises(settings.InvalidSettings) as caught:
        settings.load(database_url=URL)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == ["TINKWELL_POOL_SIZE", "TINKWELL_PORT"]


HIDDEN = canary.named("secret")


@pytest.mark.parametrize(
    ("file", "environment"),
    [
        ("", {"TOKENS": f'{{"alice": "{HIDDEN}"'}),
        ("", {"TOKENS": f'{{"alice": "{HIDDEN}", "bob": "{HIDDEN}"}}'}),
        ("", {"TOKENS": f'{{"alice": ["{HIDDEN}"]}}'}),
        ("", {"TOKENS": HIDDEN}),
        ("", {"NATS_URL": f"http://u:{HIDDEN}@h"}),
        ("", {"NATS_URL": f"nats://u:{HIDDEN}@h:{HIDDEN}"}),
        ("", {"DATABASE_URL": HIDDEN}),
        ("", {"DATABASE_URL": f"postgresql://u:{HIDDEN}@{HIDDEN}@h/d"}),
        ("", {"DATABASE_URL": f"postgresql://u:{HIDDEN}@h:{HIDDEN}/d"}),
        ("", {"DATABASE_URL": f"postgresql://u:{HIDDEN}"}),
        ("", {"DATABASE_URL": f"postgresql://u@h/d?password={HIDDEN}&sslmode=on"}),
        ("", {"DATABASE_URL": f"postgresql://u@h/d?sslpassword={HIDDEN}&connect_timeout={HIDDEN}"}),
        ("", {"DATABASE_URL": f"postgresql://u@h/d?{HIDDEN}"}),
        (f'database_url = "postgresql://u:{HIDDEN}@h/d', {}),
        (f'database_url = postgresql://u:{HIDDEN}@h/d"', {}),
        (f'tokens = "{HIDDEN}"', {}),
        (f'[tokens]\nalice = "{HIDDEN}"\nalice = "{HIDDEN}"', {}),
        (f'database_url = ["{HIDDEN}"]', {}),
    ],
)
def test_a_secret_that_is_wrong_or_at_a_wrong_place_is_not_told(
    monkeypatch: pytest.MonkeyPatch, file: str, environment: dict[str, str]
) -> None:
    write(file)
    monkeypatch.setenv("TINKWELL_DATABASE_URL", URL)
    for name, value in environment.items():
        monkeypatch.setenv(f"TINKWELL_{name}", value)
    if "database_url" in file:
        monkeypatch.delenv("TINKWELL_DATABASE_URL")
    with pytest.raises(settings.InvalidSettings) as refused:
        settings.load()
    assert canary.lines_with(str(refused.value)) == []


def test_every_secret_is_kept_out_of_what_people_read(monkeypatch: pytest.MonkeyPatch) -> None:
    write("-----BEGIN USER NKEY SEED-----\nsecret in a file\n------END------\n", "nats.creds")
    write("# the first seals\nsecret of secrets\n", "keys")
    monkeypatch.setenv("TINKWELL_SECRET_KEYS", "keys")
    monkeypatch.setenv("TINKWELL_TOKENS", '{"bob": "secret token"}')
    monkeypatch.setenv("TINKWELL_NATS_URL", "nats://u:first secret@a,nats://second secret@b,nats://c")
    monkeypatch.setenv("TINKWELL_NATS_CREDENTIALS", "nats.creds")
    chosen = settings.load(database_url="postgresql://u:secret password@h/d?sslpassword=secret passphrase")
    secrets = ["secret password", "secret passphrase", "secret token"]
    secrets += ["first secret", "second secret", "secret in a file", "secret of secrets"]
    assert sorted(set(chosen.secrets())) == sorted(secrets)
    assert [redaction.redact(secret) for secret in secrets] == ["***"] * len(secrets)
