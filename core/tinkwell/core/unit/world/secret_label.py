"""The labels of secrets: an owner uses each label once."""

from dataclasses import dataclass
from typing import Self

from tinkwell.core import errors
from tinkwell.core.unit import effect
from tinkwell.core.unit import secret as rule
from tinkwell.core.unit.world.state import State, Unit
from tinkwell.core.value import parse


@dataclass(frozen=True, slots=True)
class Labels:
    """Which secret has which label, while effects are applied one by one.

    `owners` has the owner of each secret that the unit may change. The label of such a secret belongs to that owner;
    the label of any other secret belongs to the unit.
    """

    unit: Unit
    owners: dict[str, str]
    taken: dict[tuple[str, str], str]

    @classmethod
    def of(cls, state: State, unit: Unit, *, leads: bool) -> Self:
        """Return the labels in use before the first effect of a unit; `leads` says whether it leads its application."""
        owned = [each for each in state.secrets.values() if each.owner in (unit.name, unit.application)]
        taken = {(each.owner, each.label): each.name for each in owned if each.label}
        taken |= {("", label): name for name, label in unit.labels.items() if label}
        owners = {each.name: each.owner for each in owned if leads or each.owner == unit.name}
        return cls(unit, owners, taken)

    def check(self, edit: effect.SecretEffect, field: str) -> None:
        """Take or free the label that an effect sets; raises `errors.InvalidField` if another secret has the label."""
        match edit:
            case effect.SecretAdd():
                self.owners[edit.id] = self.unit.application if edit.is_application else self.unit.name
                self._take(edit.id, edit.label, field)
            case effect.SecretSet() | effect.SecretTrack() if edit.label is not None:
                self._take(edit.id, edit.label, field)
            case effect.SecretRemove() if not edit.revision:
                for key in [key for key, each in self.taken.items() if each == edit.id]:
                    del self.taken[key]
            case _:
                pass

    def _take(self, name: str, label: str, field: str) -> None:
        rule.parse_label(f"{field}.label", label)
        owner = self.owners.get(name, "")
        for key in [key for key, each in self.taken.items() if each == name and key[0] == owner]:
            del self.taken[key]
        if not label:
            return
        if (other := self.taken.get((owner, label), name)) != name:
            text = f"{parse.show(label)} is the label of secret {other}; choose another one"
            raise errors.InvalidField.of(f"{field}.label", text)
        self.taken[owner, label] = name
