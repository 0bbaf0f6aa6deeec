"""The library for charms that are written in Python: a class whose methods handle the events of units.

`tinkwell.charm.testing` tries them without a server, and `tinkwell unit run` serves units with them.
"""

from tinkwell.charm.bag import Bag
from tinkwell.charm.charm import Charm
from tinkwell.charm.declaration import on
from tinkwell.charm.endpoint import Peer, Provides, Relations, Requires
from tinkwell.charm.errors import (
    CannotDefer,
    CharmError,
    DeclarationError,
    NotLeader,
    NotReadable,
    RelationGone,
    StorageMissing,
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
from tinkwell.charm.status import Active, Blocked, Maintenance, Status, Waiting
from tinkwell.charm.storage import Storage
from tinkwell.core.unit.kinds import Profile

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
    "Start",
    "Status",
    "Stop",
    "Storage",
    "StorageAttached",
    "StorageDetaching",
    "StorageEvent",
    "StorageMissing",
    "UpdateStatus",
    "UpgradeCharm",
    "Waiting",
    "on",
]
