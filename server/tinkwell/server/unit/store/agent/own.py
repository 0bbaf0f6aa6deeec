"""What a unit may know without further calls: its configuration, own bags, storage, state, notices and ports.

This is read together with everything that the unit's next event depends on (`look`), and again by its own statement if
a grant or a commit has changed it. `reading` reads the bags of others.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence

import asyncpg

from tinkwell.server.database.database import Transaction
from tinkwell.server.unit.store.agent.hold import GRACE

# An option has the value that is set, or its default in the charm that the unit runs. The columns are of a unit `u` and
# its application `a`.
COLUMNS = f"""
    u.namespace, coalesce(CAST(u.machine_id AS text), '') AS machine_id, code.kind AS code_kind,
    u.status_name, u.status_message, a.status_name AS application_status_name,
    a.status_message AS application_status_message, a.config_version,
    coalesce((SELECT CAST(json_object_agg(o.key, coalesce(a.config -> o.key, o.value -> 'default')
                                          ORDER BY o.key) AS text)
                FROM json_each(coalesce(code.manifest #> '{{config,options}}', '{{}}')) o
               WHERE coalesce(a.config -> o.key, o.value -> 'default') IS NOT NULL), '{{}}') AS config,
    coalesce((SELECT CAST(s.data AS text) FROM unit_state s WHERE s.unit_id = u.id), '{{}}') AS own_state,
    (SELECT CAST(coalesce(json_agg(json_build_object(
                'handler', n.handler, 'event', CAST(n.event AS text), 'ordinal', n.ordinal,
                'attempts', n.attempts) ORDER BY n.id), '[]') AS text)
       FROM deferred_notice n WHERE n.unit_id = u.id) AS notices,
    (SELECT CAST(coalesce(json_agg(json_build_array(p.protocol, p.number) ORDER BY p.protocol, p.number),
                          '[]') AS text)
       FROM port p WHERE p.unit_id = u.id) AS ports,
    (SELECT CAST(coalesce(json_agg(json_build_object(
                'number', r.number, 'interface', r.interface, 'owner', b.owner, 'data', b.data,
                'version', b.version)), '[]') AS text)
       FROM relation_member m JOIN relation r ON r.id = m.relation_id
       LEFT JOIN relation_bag b ON b.relation_id = r.id AND b.owner IN (u.name, a.name)
      WHERE m.unit_id = u.id AND m.membership <> 'LEFT') AS bags,
    (SELECT coalesce(array_agg(host(h.ip) ORDER BY family(h.ip), h.ip), '{{}}')
       FROM hardware_address h WHERE h.hardware_id = u.machine_id AND h.ip IS NOT NULL) AS addresses,
    CAST(CASE WHEN u.number IS NOT DISTINCT FROM a.leader
              THEN extract(epoch FROM least(held.expires_at + {GRACE}, a.leader_until) - clock_timestamp())
              ELSE 0 END AS double precision) AS leads_seconds,
    CAST(CASE WHEN u.next_tick_at IS NOT NULL
              THEN greatest(extract(epoch FROM u.next_tick_at - clock_timestamp()), 0)
              END AS double precision) AS due_in_seconds
"""  # noqa: S608
JOINS = """
      LEFT JOIN charm code ON code.digest = coalesce(u.charm, a.charm)
      LEFT JOIN lease held ON held.id = u.lease_id
"""
OWN = f"""
    SELECT {COLUMNS} FROM unit u JOIN application a ON a.id = u.application_id {JOINS} WHERE u.id = $1::text::uuid
"""  # noqa: S608


@dataclasses.dataclass(frozen=True, slots=True)
class Bag:
    """A bag: what a unit or an application, named by `owner`, has written in a relation.

    Version 0 if it has written nothing.
    """

    owner: str
    data: Mapping[str, str] = dataclasses.field(default_factory=dict)
    version: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredNotice:
    """A deferred event: `event` as the handler's process gave it, and `ordinal` of the event that deferred it."""

    handler: str
    event: str
    ordinal: int
    attempts: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """The unit's own data.

    `config` is a JSON object as text; `bags` are by number of relation and owner. `leads_seconds` is the time for which
    the unit still leads, 0 if it does not. `due_in_seconds` is the time until `update-status`, None if it is not due at
    any time.
    """

    namespace: str
    machine: str
    addresses: Sequence[str]
    kind: str
    config: str
    config_version: int
    status_name: str
    status_message: str
    application_status_name: str
    application_status_message: str
    state: Mapping[str, str]
    notices: Sequence[StoredNotice]
    ports: Sequence[tuple[str, int]]
    interfaces: Mapping[int, str]
    bags: Mapping[tuple[int, str], Bag]
    leads_seconds: float
    due_in_seconds: float | None


async def read(transaction: Transaction, unit_id: str) -> Own:
    """Return the own data of a locked unit."""
    return own_of((await transaction.fetch(OWN, unit_id))[0])


def own_of(row: asyncpg.Record) -> Own:
    """Read the columns."""
    bags = json.loads(row["bags"])
    return Own(
        namespace=row["namespace"],
        machine=row["machine_id"],
        addresses=tuple(row["addresses"]),
        kind=row["code_kind"],
        config=row["config"],
        config_version=row["config_version"],
        status_name=row["status_name"],
        status_message=row["status_message"],
        application_status_name=row["application_status_name"],
        application_status_message=row["application_status_message"],
        state=json.loads(row["own_state"]),
        notices=[StoredNotice(**each) for each in json.loads(row["notices"])],
        ports=[(protocol, number) for protocol, number in json.loads(row["ports"])],
        interfaces={each["number"]: each["interface"] for each in bags},
        bags={
            (each["number"], each["owner"]): Bag(each["owner"], each["data"], each["version"])
            for each in bags
            if each["owner"] is not None
        },
        leads_seconds=max(0.0, row["leads_seconds"] or 0.0),
        due_in_seconds=row["due_in_seconds"],
    )
