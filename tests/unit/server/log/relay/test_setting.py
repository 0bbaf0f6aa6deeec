"""What is said about settings of the relay that are wrong, or need what is not installed."""

import importlib.util
from pathlib import Path
from typing import Any

import pydantic
import pytest

from tinkwell.server.app import event_log
from tinkwell.server.settings import InvalidSettings, Settings, nats_urls

URL = "postgresql://user@db/tinkwell"


def make(**settings: Any) -> Settings:
    return Settings(database_url=pydantic.SecretStr(URL), **settings)


def without(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """Let the library not be installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == library else found(name))


def test_a_server_without_a_broker_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "nats")
    assert event_log._broker(make()) is None


def test_a_broker_without_the_library_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "nats")
    with pytest.raises(InvalidSettings, match=r"TINKWELL_NATS_URL .* pip install 'tinkwell\[server,nats\]'"):
        event_log._broker(make(nats_url="nats://host:4222"))


def test_credentials_without_their_library_name_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without(monkeypatch, "nkeys")
    file = tmp_path / "user.creds"
    file.write_text("")
    with pytest.raises(InvalidSettings, match=r"TINKWELL_NATS_CREDENTIALS .* pip install 'nats-py\[nkeys\]'"):
        event_log._broker(make(nats_url="nats://host:4222", nats_credentials=file))


@pytest.mark.parametrize("url", ["", "host:4222", "http://host", "nats://", "nats://host:port", "nats://a:1,b:2"])
def test_what_is_not_the_address_of_a_node_is_refused(url: str) -> None:
    with pytest.raises(pydantic.ValidationError, match="it must look like nats://HOST:4222"):
        make(nats_url=url)


def test_several_nodes_are_joined_by_commas_and_their_passwords_are_not_shown() -> None:
    settings = make(nats_url="nats://user:hidden@a:4222, tls://b")
    assert settings.nats_url is not None
    assert nats_urls(settings.nats_url) == ["nats://user:hidden@a:4222", "tls://b"]
    assert "hidden" not in repr(settings)


@pytest.mark.parametrize("name", ["", "two words", "a.b", "a*", ">"])
def test_a_stream_has_a_name_that_can_be_part_of_a_subject(name: str) -> None:
    with pytest.raises(pydantic.ValidationError, match="nats_stream"):
        make(nats_stream=name)
