"""How a container says which run it is: by its name, which no two can have, and by labels.

    tinkwell.managed=true  .instance=STATE_DIRECTORY  .attempt=N  .hook=NAME, empty for what is no hook
    .creation=ID of the call that has created it
    of a workflow's:  .workflow=ID  .action=ID          of a release's:  .release=ID  .step=ID, the others are empty

Other labels are the caller's. What does not carry its own labels in this way is nobody's run.
"""

from collections.abc import Mapping

from tinkwell.core.value.run_key import WORDS, RunKey
from tinkwell.provisioner.state_dir import state_dir

PREFIX = "tinkwell."
CREATION = "creation"
MANAGED: Mapping[str, str] = {"managed": "true"}


def labels_of(key: RunKey, *, instance: str, others: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a run's container; what the others say of the run itself does not count.

    A container has its image's labels, too, but for those that it was given: what it is not is given as empty.
    """
    owner, run = WORDS[key.kind]
    none = {word: "" for words in WORDS.values() for word in words}
    own = {**MANAGED, "instance": instance, owner: key.owner, run: key.run, "attempt": str(key.attempt)}
    labels = {**others, **none, **own, "hook": key.hook}
    return {f"{PREFIX}{name}": value for name, value in labels.items()}


def filters(labels: Mapping[str, str]) -> list[str]:
    """Return what selects the containers of runs that carry these labels."""
    return [f"{PREFIX}{name}={value}" for name, value in {**MANAGED, **labels}.items()]


def is_of_creation(labels: Mapping[str, str], creation: str) -> bool:
    """Say whether a container was created by a call that gave itself this name."""
    return labels.get(f"{PREFIX}{CREATION}") == creation


def key_of(labels: Mapping[str, str]) -> RunKey | None:
    """Return which run a container says it is, None where it does not say so."""
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
    """Return the name that the container of a run has, and no other."""
    name = f"tinkwell-{state_dir.checked(key.run)}-{key.attempt}"
    return f"{name}-{state_dir.checked(key.hook)}" if key.hook else name
