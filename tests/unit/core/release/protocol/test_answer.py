"""What images may answer, and what is said about answers that break the protocol."""

import contextlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.release.protocol import answer
from tinkwell.core.release.protocol.answer import (
    Call,
    Extension,
    InitAnswer,
    PlugRequest,
    Retry,
    Stale,
    StateAnswer,
    Valid,
    WrongAnswer,
)
from tinkwell.core.value.document import JsonObject

STATE: dict[str, Any] = {"args": ["state"]}
STATE_CALL = Call(name="state", args=("state",))


def init(document: Any) -> InitAnswer:
    return answer.parse_init(json.dumps(document).encode())


def state(document: Any) -> StateAnswer:
    return answer.parse_state(json.dumps(document).encode())


def refused_init(text: bytes) -> WrongAnswer:
    with pytest.raises(WrongAnswer) as caught:
        answer.parse_init(text)
    return caught.value


def refused_state(document: Any) -> WrongAnswer:
    with pytest.raises(WrongAnswer) as caught:
        state(document)
    return caught.value


def test_the_answers_of_the_protocols_document_are_read() -> None:
    found = init(
        {
            "plugs": {
                "gcp_service_account_file": {
                    "container_path": "/internal/path/to/mount/the/plug/in/container",
                    "optional": False,
                    "writable": False,
                }
            },
            "config_schema": {"type": "object", "additionalProperties": True},
            "state_action": {"args": ["state"]},
        }
    )
    path = "/internal/path/to/mount/the/plug/in/container"
    assert found.plugs == (PlugRequest(name="gcp_service_account_file", container_path=path, writable=False),)
    assert found.config_schema == {"type": "object", "additionalProperties": True}
    assert found.state == STATE_CALL
    assert found.extension == Extension()
    vm: JsonObject = {"name": "www_vm", "zone": "europe-west1-b", "machine-type": "n1-standard-4"}
    assert state({"status": "VALID", "state": vm}) == Valid(vm)
    assert state(
        {
            "status": "STALE",
            "actions": [
                {"name": "create-vm", "description": "Create VM", "entrypoint": "/acme/scripts/create-vm.sh"},
                {
                    "name": "notify-slack",
                    "description": "Signal new VM on slack",
                    "image": "acme/slack-notifier",
                    "entrypoint": "/acme/scripts/slack.sh",
                    "args": ["--room=acme_deployments_channel"],
                },
            ],
        }
    ) == Stale(
        None,
        (
            Call(name="create-vm", description="Create VM", entrypoint="/acme/scripts/create-vm.sh"),
            Call(
                name="notify-slack",
                description="Signal new VM on slack",
                image="acme/slack-notifier",
                entrypoint="/acme/scripts/slack.sh",
                args=("--room=acme_deployments_channel",),
            ),
        ),
    )
    update = {"name": "update-vm-machine-type", "args": ["--machine-type=n1-standard-4"]}
    call = Call(
        name="update-vm-machine-type", description="update-vm-machine-type", args=("--machine-type=n1-standard-4",)
    )
    assert state({"status": "STALE", "staleState": vm, "actions": [update]}) == Stale(vm, (call,))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "its standard output must be one JSON object: is empty; JSON is needed"),
        (b" \n ", "its standard output must be one JSON object: is empty; JSON is needed"),
        (b"{invalidate JSON here too", "its standard output must be one JSON object: line 1, column 2: "),
        (
            b"invalid JSON here",
            "its standard output must be one JSON object: line 1, column 1: Expecting value (not JSON)",
        ),
        (b"[]", "its standard output must be one JSON object: must be a JSON object, such as {}, and not a list"),
        (b"{}{}", "its standard output must be one JSON object: line 1, column 3: something follows the JSON document"),
        (b'{"state_action": {"args": ["a"]}}\n{"x": 1}', "line 2, column 1: something follows the JSON document"),
        (b'{"state_action": {"args": ["a"]}, "state_action": {}}', 'the key "state_action" occurs twice'),
        (b'{"state_action": {"args": ["a"], "args": ["b"]}}', 'state_action: the key "args" occurs twice'),
        (b'{"state_action": {"args": ["\\u0000"]}}', "holds the NUL character"),
        (b"\xff{}", "must be UTF-8"),
        (b"{" + b" " * answer.MAX_ANSWER_BYTES, "has 1,048,577 bytes; at most 1,048,576 are allowed"),
        (b'{"a":' * 70, "is nested deeper than 64 levels"),
    ],
)
def test_an_answer_is_exactly_one_json_object(text: bytes, problem: str) -> None:
    wrong = refused_init(text)
    assert problem in wrong.problems[0]
    assert str(wrong).startswith("init breaks the protocol: ")


def test_space_around_an_answer_does_not_matter() -> None:
    assert answer.parse_init(b'\n {"state_action": {"args": ["state"]}} \n').state == STATE_CALL


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({}, "state_action: must be given"),
        ({"state_action": {}}, "state_action: must set image, entrypoint or args; else it would be the call of init"),
        ({"state_action": {"args": []}}, "state_action: must set image, entrypoint or args"),
        ({"state_action": []}, "state_action: must be an object with image, entrypoint, args, and not a list"),
        ({"state_action": {"args": "state"}}, 'state_action.args: must be a list, and not the text "state"'),
        ({"state_action": {"args": [1]}}, "state_action.args[0]: must be text, and not a number"),
        ({"state_action": {"entrypoint": ""}}, "state_action.entrypoint: must not be empty"),
        ({"state_action": {"image": "A b"}}, 'state_action.image: "A b" is not an image'),
        ({"state_action": {"name": "x", "args": ["x"]}}, "state_action.name: there is no such field"),
        ({"state_action": STATE, "more": 1}, "more: there is no such field; known are "),
        ({"state_action": STATE, "config_schema": True}, "config_schema: must be an object, and not true"),
        (
            {"state_action": STATE, "config_schema": {"description": "x" * answer.MAX_SCHEMA_BYTES}},
            "config_schema: has 65,554 bytes; at most 65,536 are allowed",
        ),
        ({"state_action": STATE, "plugs": []}, "plugs: must be an object, and not a list"),
        ({"state_action": STATE, "plugs": {"1": {}}}, 'plugs.1: "1" is not a name'),
        ({"state_action": STATE, "plugs": {"p": {}}}, "plugs.p.container_path: must be given"),
        ({"state_action": STATE, "plugs": {"p": {"container_path": ""}}}, "plugs.p.container_path: must not be empty"),
        ({"state_action": STATE, "plugs": {"p": {"container_path": "x"}}}, '"x" is not an absolute path below /'),
        ({"state_action": STATE, "plugs": {"p": {"container_path": "//"}}}, '"//" is not an absolute path below /'),
        ({"state_action": STATE, "plugs": {"p": {"container_path": "/a/../.."}}}, "is not an absolute path below /"),
        (
            {"state_action": STATE, "plugs": {"p": {"container_path": "/x", "read_only": True}}},
            "plugs.p.read_only: there",
        ),
        (
            {"state_action": STATE, "plugs": {"p": {"container_path": "/x/y"}, "q": {"container_path": "/x//./y/"}}},
            "plugs.q.container_path: is also the one of the plug p",
        ),
    ],
)
def test_an_init_that_breaks_a_rule_is_told_which(document: Any, problem: str) -> None:
    wrong = refused_init(json.dumps(document).encode())
    assert any(problem in told for told in wrong.problems)
    assert wrong.call == "init"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({}, "status: must be given: VALID or STALE"),
        (
            {"status": "MISSING"},
            'status: is "MISSING"; it must be VALID or STALE (without staleState: it does not exist)',
        ),
        ({"status": None}, "status: is null; it must be VALID or STALE"),
        (
            {"status": "VALID", "state": {}, "actions": []},
            "actions: there is no such field; it is forbidden where status",
        ),
        (
            {"status": "VALID", "state": {}, "staleState": {}},
            "staleState: there is no such field; it is forbidden where",
        ),
        ({"status": "VALID"}, "state: must be given"),
        ({"status": "VALID", "state": None}, "state: must be an object, and not null"),
        (
            {"status": "STALE", "actions": []},
            "actions: must have at least one action; a resource that needs none is VALID",
        ),
        ({"status": "STALE"}, "actions: must be given"),
        ({"status": "STALE", "state": {}, "actions": [{"name": "a"}]}, "where status is STALE it is called staleState"),
        (
            {"status": "STALE", "staleState": [], "actions": [{"name": "a"}]},
            "staleState: must be an object, and not a list",
        ),
        ({"status": "STALE", "actions": {}}, "actions: must be a list, and not an object"),
        ({"status": "STALE", "actions": [{}]}, "actions[0].name: must be given"),
        ({"status": "STALE", "actions": [{"name": ""}]}, "actions[0].name: must not be empty"),
        ({"status": "STALE", "actions": [{"name": "../../x"}]}, 'actions[0].name: "../../x" is like a path'),
        ({"status": "STALE", "actions": [{"name": ".."}]}, 'actions[0].name: ".." is like a path'),
        ({"status": "STALE", "actions": [{"name": "a\\b"}]}, "is like a path"),
        ({"status": "STALE", "actions": [{"name": "a\nb"}]}, "actions[0].name: has the control character"),
        (
            {"status": "STALE", "actions": [{"name": "a", "arg": []}]},
            "actions[0].arg: there is no such field; did you mean",
        ),
        (
            {"status": "STALE", "actions": [{"name": "a", "description": ""}]},
            "actions[0].description: must not be empty",
        ),
        ({"status": "STALE", "actions": [{"name": "a"}] * 1_001}, "actions: has 1,001 entries; at most 1,000"),
    ],
)
def test_a_state_that_breaks_a_rule_is_told_which(document: Any, problem: str) -> None:
    wrong = refused_state(document)
    assert any(problem in told for told in wrong.problems)
    assert str(wrong).startswith("state breaks the protocol: ")


def test_all_broken_rules_are_told_at_once() -> None:
    assert len(refused_init(b'{"plugs": {"p": {}}, "more": 1}').problems) == 3


@pytest.mark.parametrize("image", ["localhost:5000/x:1", "localhost:5000/x", "acme/x:1", f"x@sha256:{'a' * 64}"])
def test_images_may_have_a_port_a_tag_and_a_digest(image: str) -> None:
    assert init({"state_action": {"image": image}}).state.image == image
    [action] = stale({"name": "a", "image": image}).actions
    assert action.image == image


def stale(*actions: dict[str, Any]) -> Stale:
    found = state({"status": "STALE", "actions": list(actions)})
    assert isinstance(found, Stale)
    return found


ABSENT = object()


@pytest.mark.parametrize(
    ("description", "image", "entrypoint", "args"),
    [
        *itertools.product(
            (ABSENT, "Do it"), (ABSENT, "acme/x:1"), (ABSENT, "/bin/x"), (ABSENT, [], ["1"], ["1", "2"], ["1", "", ""])
        )
    ],
)
def test_actions_are_kept_as_given_and_what_is_not_given_is_the_images_own(
    description: Any, image: Any, entrypoint: Any, args: Any
) -> None:
    given_fields = {"name": "do-it", "description": description, "image": image, "entrypoint": entrypoint, "args": args}
    [action] = stale({key: value for key, value in given_fields.items() if value is not ABSENT}).actions
    assert action == Call(
        name="do-it",
        description="do-it" if description is ABSENT else description,
        image="" if image is ABSENT else image,
        entrypoint="" if entrypoint is ABSENT else entrypoint,
        args=None if args is ABSENT or not args else tuple(args),
    )


def test_a_resource_without_a_stale_state_does_not_exist_and_an_empty_one_does() -> None:
    action = {"name": "a"}
    assert stale(action).state is None
    found = state({"status": "STALE", "staleState": {}, "actions": [action]})
    assert isinstance(found, Stale)
    assert found.state == {}


def test_defaults_of_an_init_are_those_of_the_protocol() -> None:
    found = init({"state_action": STATE, "plugs": {"p": {"container_path": "/p/"}}})
    assert found.plugs == (PlugRequest(name="p", container_path="/p", optional=False, writable=True),)
    assert found.config_schema is None


def test_an_image_that_knows_us_says_more() -> None:
    document = {
        "state_action": STATE,
        "tinkwell": {
            "protocol": 1,
            "destroy_action": {"args": ["destroy"]},
            "read_only_state": False,
            "timeouts": {"state": 5, "destroy": 60},
            "retry": {"attempts": 3, "delay_seconds": 0, "exit_codes": [75]},
            "readiness": {"poll_seconds": 2},
            "sensitive": ["/password"],
            "concurrency_key": "pg",
        },
    }
    found = init(document)
    assert found.extension == Extension(
        destroy=Call(name="destroy", args=("destroy",)),
        read_only_state=False,
        timeouts={"state": 5, "destroy": 60},
        retry=Retry(attempts=3, delay_seconds=0, exit_codes=(75,)),
        poll_seconds=2,
        sensitive=("/password",),
        concurrency_key="pg",
    )
    assert init(found.document) == found
    assert init({"state_action": STATE, "tinkwell": {"protocol": 1, "retry": {}}}).extension.retry == Retry()


@pytest.mark.parametrize(
    ("extension", "problem"),
    [
        ({}, "tinkwell.protocol: must be given"),
        ({"protocol": 2}, "tinkwell.protocol: is 2; it must be from 1 to 1"),
        ({"protocol": 1, "destroy": {}}, "tinkwell.destroy: there is no such field; did you mean destroy_action?"),
        ({"protocol": 1, "destroy_action": {}}, "tinkwell.destroy_action: must set image, entrypoint or args"),
        ({"protocol": 1, "read_only_state": 1}, "tinkwell.read_only_state: must be true or false, and not a number"),
        (
            {"protocol": 1, "timeouts": {"sate": 1}},
            "tinkwell.timeouts.sate: there is no such field; did you mean state?",
        ),
        ({"protocol": 1, "timeouts": {"state": 0}}, "tinkwell.timeouts.state: is 0"),
        ({"protocol": 1, "retry": {"attempts": 0}}, "tinkwell.retry.attempts: is 0; it must be from 1 to 101"),
        ({"protocol": 1, "retry": {"exit_codes": [0]}}, "tinkwell.retry.exit_codes[0]: is 0; it must be from 1 to 255"),
        (
            {"protocol": 1, "readiness": {"poll_seconds": 0.5}},
            "tinkwell.readiness.poll_seconds: must be a whole number",
        ),
        ({"protocol": 1, "sensitive": ["password"]}, 'tinkwell.sensitive[0]: "password" is not a JSON pointer'),
        ({"protocol": 1, "concurrency_key": "x" * 200}, "tinkwell.concurrency_key: has 200 bytes"),
    ],
)
def test_an_extension_that_breaks_a_rule_is_told_which(extension: Any, problem: str) -> None:
    wrong = refused_init(json.dumps({"state_action": STATE, "tinkwell": extension}).encode())
    assert any(problem in told for told in wrong.problems)


def test_an_error_shows_the_beginning_of_the_answer_and_no_part_of_a_secret() -> None:
    long = refused_init(b"[" + "ä".encode() * 500)
    shown = str(long).rsplit("; it answered ", 1)[1]
    assert shown == "[" + "ä" * 99 + "…"
    assert "it answered" not in str(refused_init(b" "))
    secret = "hunter2" * 40
    wrong = refused_init(f"[{secret}]".encode())
    assert wrong.tell(lambda text: text.replace(secret, "•••")).endswith("; it answered [•••]")


def test_an_error_shows_what_does_not_print_in_a_way_that_can_be_stored() -> None:
    told = str(refused_init(b"fine\x00\x1b[31m\xff\n{}"))
    assert told.endswith("; it answered fine\\u0000\\u001b[31m\ufffd\\u000a{}")


@given(st.binary(max_size=60))
def test_whatever_an_image_prints_is_an_answer_or_told_to_be_wrong(text: bytes) -> None:
    for parse in (answer.parse_init, answer.parse_state):
        with pytest.raises(WrongAnswer):
            parse(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["VALID", "STALE", "x", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["status", "state", "staleState", "actions", "name", "args", "state_action", "plugs", "tinkwell"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_json_an_image_answers_is_an_answer_or_told_to_be_wrong(document: Any) -> None:
    for parse in (init, state):
        with contextlib.suppress(WrongAnswer):
            parse(document)
