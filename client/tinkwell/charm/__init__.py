"""The library for charms written in Python: a charm is a class whose methods handle the events of units.

`tinkwell.charm.testing` tests charms without a server, and `tinkwell unit run` serves units with a charm.
"""

from tinkwell.charm.action import action
from tinkwell.charm.bag import Bag
from tinkwell.charm.charm import Charm
from tinkwell.charm.declaration import on
from tinkwell.charm.endpoint import Peer, Provides, Relations, Requires
from tinkwell.charm.errors import (
    CannotDefer,
    CharmError,
    DeclarationError,
    NotLeader,
    NotOwner,
    NotReadable,
    RelationGone,
    SecretMissing,
    StorageMissing,
    WrongSecret,
)
from tinkwell.charm.event import (
    CollectMetrics,
    ConfigChanged,
    Event,
    Install,
    LeaderElected,
    LeaderSettingsChanged,
    PostSeriesUpgrade,
    PreSeriesUpgrade,
    RelationBroken,
    RelationChanged,
    RelationCreated,
    RelationDeparted,
    RelationEvent,
    RelationJoined,
    Remove,
    SecretChanged,
    SecretEvent,
    SecretExpired,
    SecretRemove,
    SecretRotate,
    Start,
    Stop,
    StorageAttached,
    StorageDetaching,
    StorageEvent,
    UpdateStatus,
    UpgradeCharm,
)
from tinkwell.charm.instance import Instance
from tinkwell.charm.option import Option
from tinkwell.charm.relation import Relation
from tinkwell.charm.secret import SecretInfo, Secrets
from tinkwell.charm.status import Active, Blocked, Maintenance, Status, Waiting
from tinkwell.charm.storage import Storage
from tinkwell.charm.task import Task
from tinkwell.core.unit.kinds import Profile, Rotation

__all__ = [
    "Active",
    "Bag",
    "Blocked",
    "CannotDefer",
    "Charm",
    "CharmError",
    "CollectMetrics",
    "ConfigChanged",
    "DeclarationError",
    "Event",
    "Install",
    "Instance",
    "LeaderElected",
    "LeaderSettingsChanged",
    "Maintenance",
    "NotLeader",
    "NotOwner",
    "NotReadable",
    "Option",
    "Peer",
    "PostSeriesUpgrade",
    "PreSeriesUpgrade",
    "Profile",
    "Provides",
    "Relation",
    "RelationBroken",
    "RelationChanged",
    "RelationCreated",
    "RelationDeparted",
    "RelationEvent",
    "RelationGone",
    "RelationJoined",
    "Relations",
    "Remove",
    "Requires",
    "Rotation",
    "SecretChanged",
    "SecretEvent",
    "SecretExpired",
    "SecretInfo",
    "SecretMissing",
    "SecretRemove",
    "SecretRotate",
    "Secrets",
    "Start",
    "Status",
    "Stop",
    "Storage",
    "StorageAttached",
    "StorageDetaching",
    "StorageEvent",
    "StorageMissing",
    "Task",
    "UpdateStatus",
    "UpgradeCharm",
    "Waiting",
    "WrongSecret",
    "action",
    "on",
]
