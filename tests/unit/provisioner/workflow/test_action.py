"""What is run for an attempt at an action, or for its hook."""

from dataclasses import replace

import pytest
from unit.provisioner.fake_runtime import FakeRuntime, FakeWorld
from unit.provisioner.stage import Files, action, key_of

from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.workflow.action import work_of

ACTION = replace(
    action(
        command=("a", "b c"),
        on_failure=("mend",),
        environment=("K=v", "TINKWELL_WORKER_ID=mine"),
        volumes=("/a:/b:ro",),
        pid="host",
        timeout_seconds=7,
    ),
    id="w-0",
    workflow_id="w",
)


def spec_of(key: RunKey) -> port.RunSpec:
    return work_of(key, ACTION, FakeRuntime(FakeWorld()), Files()).run


def test_an_action_has_the_folder_of_its_workflow_on_its_machine() -> None:
    spec = spec_of(key_of("w-0", 2))
    assert spec.mounts == (port.Mount(source="/files/w/m-1", target="/workflow", may_create=True),)
    assert spec.volumes == ("/a:/b:ro",)
    assert (spec.workdir, spec.pid, spec.entrypoint) == ("", "host", "")
    assert (spec.stdin, spec.answer_bytes) == (None, 0)
    assert spec.labels == {"task": "task", "name": "step", "worker": "m-1"}


def test_an_action_is_told_what_it_is_but_what_it_says_itself_counts() -> None:
    assert spec_of(key_of("w-0", 2)).variables() == {
        "WORKFLOW_DIR": "/workflow",
        "TINKWELL_WORKFLOW_ID": "w",
        "TINKWELL_ACTION_ID": "w-0",
        "TINKWELL_ATTEMPT": "2",
        "TINKWELL_WORKER_ID": "mine",
        "K": "v",
    }


@pytest.mark.parametrize(("hook", "command"), [("", ("a", "b c")), ("on-failure", ("mend",)), ("on-timeout", ())])
def test_a_hook_runs_as_its_action_but_for_its_command(hook: str, command: tuple[str, ...]) -> None:
    main, spec = spec_of(key_of("w-0")), spec_of(key_of("w-0", hook=hook))
    assert spec.command == command
    assert spec.variables().get("TINKWELL_HOOK", "") == hook
    assert replace(spec, key=main.key, command=main.command, environment=main.environment) == main
