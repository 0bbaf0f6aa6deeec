"""The commands for secrets, on the fake server."""

from pathlib import Path

import pytest
from unit.juju.stage import JujuLine, Site

from support.unit_agent import Agent
from tinkwell.client import Client


def add(juju: JujuLine, name: str, *pairs: str) -> str:
    """Make a secret, and return its URI."""
    return juju.ok("add-secret", name, *pairs).strip()


def test_a_secret_is_made_and_its_uri_is_all_that_is_written(juju: JujuLine) -> None:
    uri = add(juju, "api", "user=ann", "password=a=b")
    assert uri.startswith("secret:")
    (found,) = juju.json("show-secret", "api").values()
    assert (found["name"], found["owner"], found["revision"]) == ("api", "<model>", 1)
    assert "content" not in found


def test_its_content_is_shown_on_demand_as_juju_writes_it(juju: JujuLine) -> None:
    uri = add(juju, "api", "user=ann", "password=a=b")
    (found,) = juju.json("show-secret", uri, "--reveal").values()
    assert found["content"] == {"Data": {"user": "ann", "password": "a=b"}}
    lines = juju.ok("show-secret", uri, "--reveal").splitlines()
    assert {"  content:", '    password: "a=b"', "    user: ann"} <= {*lines}


def test_values_of_a_file_are_the_texts_that_stand_there(juju: JujuLine, tmp_path: Path) -> None:
    file = tmp_path / "secret.yaml"
    file.write_text("one: 1e3\ntwo: on\nthree: '007'\nfour: null\nfive#base64: aGVsbG8=\n")
    other = tmp_path / "key.pem"
    other.write_text("-----BEGIN\n")
    juju.ok("add-secret", "odd", "--file", str(file), f"pem#file={other}", "one=over")
    (found,) = juju.json("show-secret", "odd", "--reveal").values()
    expected = {"one": "over", "two": "on", "three": "007", "four": "null", "five": "hello", "pem": "-----BEGIN\n"}
    assert found["content"]["Data"] == expected


def test_a_secret_is_updated_granted_revoked_and_removed(juju: JujuLine, site: Site) -> None:
    site.work(lambda client, agent: _deploy(client, agent, site.web))
    uri = add(juju, "api", "key=1")
    juju.ok("update-secret", "api", "key=2", "--info", "what", "--name", "new")
    juju.ok("grant-secret", "new", "web")
    (found,) = juju.json("show-secret", "new", "--revisions").values()
    assert (found["description"], found["revision"], len(found["revisions"])) == ("what", 2, 2)
    assert found["access"] == [{"target": "application-web", "scope": "model", "role": "view"}]
    juju.ok("revoke-secret", uri, "web")
    assert "access" not in next(iter(juju.json("show-secret", uri).values()))
    juju.ok("remove-secret", uri, "--revision", "1")
    assert juju.fails("show-secret", uri, "--revision", "1").endswith('/1" not found\n')
    juju.ok("remove-secret", uri)
    assert juju.json("secrets") == {}


async def _deploy(client: Client, _: Agent, charm: str) -> None:
    await client.applications.deploy("web", charm, anywhere=True)


def test_secrets_are_listed_by_their_owners(juju: JujuLine) -> None:
    name = add(juju, "api", "key=1").removeprefix("secret:")
    assert [*juju.json("secrets")] == [name]
    assert [*juju.json("secrets", "--owner", "<model>")] == [name]
    assert juju.json("secrets", "--owner", "web") == {}
    header, row = juju.ok("secrets").splitlines()
    assert header.split("  ")[0] == "ID"
    assert row.split()[:5] == [name, "api", "<model>", "never", "1"]


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (("add-secret", "x"), "missing secret value or filename", 2),
        (("add-secret", "x", "a"), 'expected "key=value", "key#file=path" or "key#base64=value", got "a"', 2),
        (("add-secret", "x", "a#base64=!"), "a: is not a text in BASE64", 1),
        (("add-secret", "x", "a#file=/nothing"), "/nothing: No such file or directory", 1),
        (("update-secret", "x"), "must specify something to change: a value, --info or --name", 2),
        (
            ("update-secret", "x", "key=b", "--auto-prune"),
            "--auto-prune: revisions are kept until remove-secret --revision removes them",
            2,
        ),
        (("show-secret", "x"), 'secret "x" not found', 1),
        (("show-secret", "x", "--reveal", "--revisions"), "specify either --revisions or --reveal, not both", 2),
    ],
)
def test_what_is_wrong_is_one_sentence(juju: JujuLine, words: tuple[str, ...], sentence: str, code: int) -> None:
    assert juju.fails(*words, code=code) == f"ERROR {sentence}\n"


@pytest.mark.parametrize("text", ["- a\n", "a: {b: c}\n", "a: b\n---\nc: d\n"])
def test_a_file_that_holds_no_texts_is_refused(juju: JujuLine, tmp_path: Path, text: str) -> None:
    file = tmp_path / "secret.yaml"
    file.write_text(text)
    assert f"{file}: " in juju.fails("add-secret", "x", "--file", str(file))


def test_a_name_that_is_taken_is_refused(juju: JujuLine) -> None:
    add(juju, "api", "key=1")
    assert juju.fails("add-secret", "api", "key=2") == 'ERROR secret with name "api" already exists\n'
