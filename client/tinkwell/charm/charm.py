"""The class that charms derive from."""

from dataclasses import dataclass
from typing import ClassVar

from tinkwell.charm import errors
from tinkwell.charm.action import Action, acted
from tinkwell.charm.attempt.situation import Situation
from tinkwell.charm.bag import Bag
from tinkwell.charm.declaration import Subject, heard
from tinkwell.charm.endpoint import Endpoint
from tinkwell.charm.option import Option
from tinkwell.charm.secret import Secrets
from tinkwell.charm.status import Status
from tinkwell.charm.storage import Storage
from tinkwell.core.unit.kinds import Profile


@dataclass(frozen=True, slots=True)
class Handler:
    """A method that handles events, and the kinds that it handles."""

    name: str
    subjects: tuple[Subject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The declarations of a charm class: its name, and its parts in the order of the class."""

    name: str
    profile: Profile | None
    endpoints: tuple[Endpoint, ...]
    storages: tuple[Storage, ...]
    options: tuple[Option[object], ...]
    handlers: tuple[Handler, ...]
    actions: tuple[Action, ...] = ()


class Charm:
    """The base class of charms. The first paragraph of a charm's docstring is its summary.

        class Web(charm.Charm):
            \"\"\"Serves one page; needs a database.\"\"\"

            db = charm.Requires("db", interface="postgresql")

            @db.changed
            async def database(self, event: charm.RelationChanged) -> None:
                self.db[event.relation].unit["ready"] = "yes"
                self.status = charm.Active()

    Each event of each unit gets a new instance, so attributes do not live on; keep data in `state`. The charm's name
    comes from the class, such as `web-server` for `WebServer`, or is given in `class WebServer(charm.Charm,
    name="web")`. A profile may be given there as well, for applications that are deployed without one.
    """

    declared: ClassVar[Declared]

    def __init_subclass__(cls, *, name: str = "", profile: Profile | None = None) -> None:
        super().__init_subclass__()
        cls.declared = _declared(cls, name or _spelled(cls.__name__), profile)

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._status: Status | None = None
        self._application_status: Status | None = None

    @property
    def situation(self) -> Situation:
        """The data and objects of one event; other attributes of the charm give easier access to them."""
        return self._situation

    @property
    def unit(self) -> str:
        """The name of the unit, such as `web/0`."""
        return self._situation.attempt.unit

    @property
    def application(self) -> str:
        """The name of the application."""
        return self._situation.application

    @property
    def is_leader(self) -> bool:
        """Whether the unit leads its application, and will lead for at least 30 seconds."""
        return self._situation.surroundings.is_leader

    @property
    def state(self) -> Bag:
        """The charm's own data about the unit: strings, whose changes are stored if the event succeeds."""
        return self._situation.state

    @property
    def secrets(self) -> Secrets:
        """The secrets that the unit owns, and those that it may read."""
        return self._situation.secrets

    @property
    def status(self) -> Status | None:
        """The status that was set during this event. Users see it at once, and it stays if the event fails."""
        return self._status

    @status.setter
    def status(self, status: Status) -> None:
        self._situation.surroundings.set_status(status)
        self._status = status

    @property
    def application_status(self) -> Status | None:
        """The status of the application that was set during this event. Only a leader may set it, else `NotLeader`."""
        return self._application_status

    @application_status.setter
    def application_status(self, status: Status) -> None:
        if not self.is_leader:
            raise errors.NotLeader(f"{self.unit} does not lead {self.application}; look at is_leader first")
        self._situation.surroundings.set_application_status(status)
        self._application_status = status

    def set_workload_version(self, version: str) -> None:
        """Set the version of the program that the unit runs. Users see it at once."""
        self._situation.surroundings.set_workload_version(version)

    def open_port(self, number: int, protocol: str = "tcp") -> None:
        """Record that the unit listens on a port of `tcp` or `udp`; the firewall is not touched."""
        self._situation.open_port(number, protocol)

    def close_port(self, number: int, protocol: str = "tcp") -> None:
        """Record that the unit does not listen on a port."""
        self._situation.close_port(number, protocol)


def _declared(cls: type[Charm], name: str, profile: Profile | None) -> Declared:
    members = _members(cls)
    declared = Declared(
        name=name,
        profile=profile,
        endpoints=tuple(each for each in members.values() if isinstance(each, Endpoint)),
        storages=tuple(each for each in members.values() if isinstance(each, Storage)),
        options=tuple(each for each in members.values() if isinstance(each, Option)),
        handlers=tuple(Handler(key, heard(each)) for key, each in members.items() if heard(each)),
        actions=tuple(found for each in members.values() if (found := acted(each)) is not None),
    )
    actions = [each.declared.name for each in declared.actions]
    if twice := next((each for each in actions if actions.count(each) > 1), ""):
        raise errors.DeclarationError(f"{cls.__name__} has the action {twice} twice; give one of them another name")
    names = [each.name for each in declared.endpoints] + [each.name for each in declared.storages]
    if twice := next((each for each in names if names.count(each) > 1), ""):
        raise errors.DeclarationError(f"{cls.__name__} declares {twice} twice; give one of them another name")
    for handler in declared.handlers:
        for subject in handler.subjects:
            if subject.name and subject.name not in names:
                what = f"{subject.kind} of {subject.name}, which the class does not declare"
                raise errors.DeclarationError(f"{cls.__name__}.{handler.name} handles {what}")
    return declared


def _members(cls: type[Charm]) -> dict[str, object]:
    """Return the members of a class and its bases, bases first; an override takes the place of the original."""
    members: dict[str, object] = {}
    for each in reversed(cls.__mro__):
        if each is Charm or not issubclass(each, Charm):
            continue
        for name, member in vars(each).items():
            if name in _TAKEN:
                raise errors.DeclarationError(f"{each.__name__}.{name} is a name that Charm has; take another one")
            members[name] = member
    return members


# Names that derived classes may not redefine, because the library uses them.
_TAKEN = frozenset(name for name in vars(Charm) if not name.startswith("__")) | {"__init__"}


def _spelled(name: str) -> str:
    """Spell the name of a class as charms are named: `WebServer` as `web-server`."""
    return "".join(f"-{each.lower()}" if each.isupper() and at else each.lower() for at, each in enumerate(name))
