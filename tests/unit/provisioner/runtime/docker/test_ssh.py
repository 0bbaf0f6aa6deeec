"""Addresses of engines by ssh, and what is said about an end of ssh."""

from pathlib import Path

import pytest

from tinkwell.provisioner.runtime.docker.connection import ssh


@pytest.mark.parametrize(
    ("url", "arguments"),
    [
        ("ssh://Rack", ["ssh", "--", "Rack"]),
        ("ssh://Rack/", ["ssh", "--", "Rack"]),
        ("ssh://ops@rack.lab:2222", ["ssh", "-p", "2222", "-l", "ops", "--", "rack.lab"]),
        ("ssh://ops@[fd00::1]:2222", ["ssh", "-p", "2222", "-l", "ops", "--", "fd00::1"]),
    ],
)
def test_an_address_becomes_what_ssh_is_called_with(url: str, arguments: list[str]) -> None:
    """The name stays as it is written, for ssh's configuration, which also has a say where no port is given."""
    target = ssh.Target.parse(url)
    assert target.arguments([]) == arguments
    assert target.remote_command() == "docker system dial-stdio"


def test_a_path_is_the_engines_socket_and_a_file_is_the_configuration() -> None:
    target = ssh.Target.parse("ssh://rack/run/user/1000/my docker.sock", Path("/etc/tinkwell/ssh"))
    assert target.remote_command() == "docker --host 'unix:///run/user/1000/my docker.sock' system dial-stdio"
    assert target.arguments(["BatchMode=yes"]) == [
        "ssh",
        "-F",
        "/etc/tinkwell/ssh",
        "-o",
        "BatchMode=yes",
        "--",
        "rack",
    ]


@pytest.mark.parametrize("url", ["ssh://", "ssh://ops@", "ssh://-oProxyCommand=id", "ssh://rack:port", "ssh://a@b@c"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ssh.SshError, match="no address by ssh; write it as ssh://user@host"):
        ssh.Target.parse(url)


def test_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(ssh.SshError, match="keys are needed") as caught:
        ssh.Target.parse("ssh://ops:secret@rack")
    assert "secret" not in str(caught.value)


def test_only_the_last_line_of_what_ssh_says_is_repeated_without_what_does_not_print() -> None:
    target = ssh.Target.parse("ssh://ops@rack:2222")
    said = ssh.explanation(target, 255, "banner\n\x1b[31mConnection refused\r\n\n")
    assert said == (
        "ops@rack cannot be reached by ssh: [31mConnection refused; does ssh ops@rack -p 2222 docker version work?"
    )
    assert "ssh ended with 1;" in ssh.explanation(target, 1, "")
