"""Whose credentials go to which registry."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tinkwell.core.value import image as image_rules
from tinkwell.provisioner.runtime.docker import credential
from tinkwell.provisioner.runtime.docker.setting import DockerSettings


def login(settings: DockerSettings, registry: str) -> Any:
    header = credential.header(settings, registry)
    return header and json.loads(base64.urlsafe_b64decode(header))


def write(path: Path, **config: Any) -> DockerSettings:
    path.write_text(json.dumps(config))
    return DockerSettings(config_file=path)


def add_helper(folder: Path, name: str, script: str) -> None:
    program = folder / f"docker-credential-{name}"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)


@pytest.mark.parametrize(
    ("image", "registry", "name"),
    [
        ("busybox", "docker.io", "r.io/busybox"),
        ("a/b:v1", "docker.io", "r.io/a/b:v1"),
        ("quay.io/a", "quay.io", "quay.io/a"),
        ("host:5000/a", "host:5000", "host:5000/a"),
        ("localhost/a", "localhost", "localhost/a"),
        ("a:5000", "docker.io", "r.io/a:5000"),
    ],
)
def test_a_name_says_which_registry_it_means(image: str, registry: str, name: str) -> None:
    assert image_rules.registry_of(image) == registry
    assert image_rules.qualified(image, "r.io") == name
    assert image_rules.qualified(image, "") == image


def test_without_any_credentials_a_pull_is_anonymous() -> None:
    assert login(DockerSettings(), "docker.io") is None


def test_a_login_without_a_registry_is_for_docker_hub() -> None:
    settings = DockerSettings(user="me", password="p")
    assert login(settings, "docker.io") == {
        "username": "me",
        "password": "p",
        "serveraddress": "https://index.docker.io/v1/",
    }
    assert login(settings, "quay.io") is None


def test_docker_s_own_place_is_looked_in_unless_another_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, folder in (("home", ".docker"), ("there", "there")):
        (tmp_path / folder).mkdir()
        auth = base64.b64encode(f"{name}:p".encode()).decode()
        write(tmp_path / folder / "config.json", auths={"quay.io": {"auth": auth}})
    assert login(DockerSettings(), "quay.io")["username"] == "home"
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "there"))
    assert login(DockerSettings(), "quay.io")["username"] == "there"
    named = DockerSettings(config_file=tmp_path / ".docker" / "config.json")
    assert login(named, "quay.io")["username"] == "home"


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(credential.CredentialError, match=r"none.json cannot be read: No such file"):
        login(DockerSettings(config_file=tmp_path / "none.json"), "quay.io")


@pytest.mark.parametrize("key", ["quay.io", "https://quay.io", "http://quay.io/v2/"])
def test_an_entry_is_found_under_a_host_or_a_url(tmp_path: Path, key: str) -> None:
    settings = write(tmp_path / "c.json", auths={key: {"identitytoken": "t"}, "notquay.io": {"identitytoken": "x"}})
    assert login(settings, "quay.io") == {"identitytoken": "t", "serveraddress": "quay.io"}


@pytest.mark.parametrize("text", ["[]", '{"auths": {"quay.io": {"auth": "%%%"}}}', '{"auths": 7}', "\xff"])
def test_a_file_of_another_kind_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(credential.CredentialError, match=r"c.json is no Docker config.json"):
        login(DockerSettings(config_file=tmp_path / "c.json"), "quay.io")


def test_a_helper_is_asked_for_its_registry_and_the_file_for_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_helper(tmp_path, "one", 'read host; echo "{\\"Username\\": \\"<token>\\", \\"Secret\\": \\"for $host\\"}"')
    add_helper(tmp_path, "all", "echo credentials not found in native keychain; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    auth = base64.b64encode(b"filed:p").decode()
    settings = write(
        tmp_path / "c.json",
        auths={"quay.io": {}, "ghcr.io": {"auth": auth}},
        credHelpers={"quay.io": "one"},
        credsStore="all",
    )
    assert login(settings, "quay.io")["identitytoken"] == "for quay.io"
    assert login(settings, "ghcr.io")["username"] == "filed"
    assert login(settings, "other.io") is None


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo the keychain is locked; exit 1", "docker-credential-x fails: the keychain is locked"),
        ("echo nonsense", "docker-credential-x answers with something other than a login"),
        ("sleep 60", "docker-credential-x does not answer: .* timed out"),
    ],
)
def test_a_helper_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str
) -> None:
    monkeypatch.setattr(credential, "HELPER_SECONDS", 0.5)
    add_helper(tmp_path, "x", f"exec {script}" if script.startswith("sleep") else script)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(credential.CredentialError, match=message):
        login(write(tmp_path / "c.json", credsStore="x"), "quay.io")


def test_a_helper_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(credential.CredentialError, match="docker-credential-absent does not answer"):
        login(write(tmp_path / "c.json", credsStore="absent"), "quay.io")
