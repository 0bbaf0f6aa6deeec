"""The name and the labels of a container, which say which run it is. No two containers can have the same name.

    tinkwell.managed=true  .instance=STATE_DIRECTORY  .attempt=N  .hook=NAME, empty if it is no hook
    .creation=ID of the call that has created it
    of a workflow's:  .workflow=ID  .action=ID          of a release's:  .release=ID  .step=ID, the others are empty

Other labels are the caller's. A container without these labels is not a run.
"""

from collections.abc import Mapping

from tinkwell.core.value.run_key import WORDS, RunKey
from tinkwell.provisioner.state_dir import state_dir

PREFIX = "tinkwell."
CREATION = "creation"
MANAGED: Mapping[str, str] = {"managed": "true"}


def labels_of(key: RunKey, *, instance: str, others: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a run's container. Entries of `others` with the names of these labels are ignored.

    A container also inherits labels of its image. So labels that do not apply are set to an empty value.
    """
    owner, run = WORDS[key.kind]
    none = {word: "" for words in WORDS.values() for word in words}
    own = {**MANAGED, "instance": instance, owner: key.owner, run: key.run, "attempt": str(key.attempt)}
    labels = {**others, **none, **own, "hook": key.hook}
    return {f"{PREFIX}{name}": value for name, value in labels.items()}


def filters(labels: Mapping[str, str]) -> list[str]:
    """Return the engine's filters for containers of runs with these labels."""
    return [f"{PREFIX}{name}={value}" for name, value in {**MANAGED, **labels}.items()]


def is_of_creation(labels: Mapping[str, str], creation: str) -> bool:
    """Return whether a container was created by the call with this id."""
    return labels.get(f"{PREFIX}{CREATION}") == creation


def key_of(labels: Mapping[str, str]) -> RunKey | None:
    """Return the key of the run that a container's labels name, None if they name none."""
    names = ("managed", "attempt", "hook")
    managed, attempt, hook = (labels.get(f"{PREFIX}{name}", "") for name in names)
    for kind, words in WORDS.items():
        owner, run = (labels.get(f"{PREFIX}{word}", "") for word in words)
        if managed and owner and attempt.isdecimal():
            try:
                return RunKey(kind, owner, state_dir.checked(run), int(attempt), hook and state_dir.checked(hook))
            except state_dir.StateError:
                return None
    return None


def container_name(key: RunKey) -> str:
    """Return the name of a run's container."""
    name = f"tinkwell-{state_dir.checked(key.run)}-{key.attempt}"
    return f"{name}-{state_dir.checked(key.hook)}" if key.hook else name
