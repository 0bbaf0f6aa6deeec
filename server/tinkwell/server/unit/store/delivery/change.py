"""The changes of a grant and a commit outside of the ledger, as `core.unit.change` defines them."""

import dataclasses
from collections.abc import Iterable, Mapping

from tinkwell.core.unit.resolver import change
from tinkwell.server.database.database import Transaction
from tinkwell.server.unit.store.delivery.look_again import LookAgain, look_again
from tinkwell.server.unit.store.secret import rotation

_RUN_CODE = "UPDATE unit SET charm = $2 WHERE id = $1::text::uuid"
_ENTER_PHASE = "UPDATE unit SET phase = CAST($2 AS text) WHERE id = $1::text::uuid AND phase <> CAST($2 AS text)"
_BEGIN_ENTERING = """
    INSERT INTO relation_member (relation_id, unit_id)
    SELECT r.id, u.id FROM unit u JOIN relation r ON r.namespace = u.namespace AND r.number = $2
     WHERE u.id = $1::text::uuid
        ON CONFLICT (relation_id, unit_id) DO UPDATE SET entered = relation_member.entered
    RETURNING unit_id
"""
_ENTER = """
    UPDATE relation_member m SET membership = 'IN', entered = nextval('relation_member_entered')
      FROM unit u, relation r
     WHERE u.id = $1::text::uuid AND r.namespace = u.namespace AND r.number = $2
       AND m.relation_id = r.id AND m.unit_id = u.id AND m.membership = 'ENTERING'
"""
_FORGET_ENTERING = """
    DELETE FROM relation_member m USING unit u, relation r
     WHERE u.id = $1::text::uuid AND r.namespace = u.namespace AND CAST($2 AS bigint) IN (0, r.number)
       AND m.relation_id = r.id AND m.unit_id = u.id AND m.membership = 'ENTERING'
"""
_LEAVE = """
    UPDATE relation_member m SET membership = 'LEFT'
      FROM unit u, relation r
     WHERE u.id = $1::text::uuid AND r.namespace = u.namespace AND CAST($2 AS bigint) IN (0, r.number)
       AND m.relation_id = r.id AND m.unit_id = u.id AND m.membership = 'IN'
"""
_REFER = """
    INSERT INTO unit_member (unit_id, relation_id, member_id)
    SELECT u.id, r.id, x.id
      FROM unit u
      JOIN relation r ON r.namespace = u.namespace AND r.number = $2
      JOIN unit x ON x.namespace = u.namespace AND x.name = $3
     WHERE u.id = $1::text::uuid
        ON CONFLICT (unit_id, relation_id, member_id) DO UPDATE SET is_told = unit_member.is_told
    RETURNING member_id
"""
_LET_GO = """
    DELETE FROM unit_member m USING unit u, relation r, unit x
     WHERE u.id = $1::text::uuid AND r.namespace = u.namespace AND r.number = $2
       AND x.namespace = u.namespace AND x.name = $3
       AND m.unit_id = u.id AND m.relation_id = r.id AND m.member_id = x.id AND NOT m.is_told
"""
_ANNOUNCE = """
    UPDATE application a SET announced_term = $2 FROM unit u
     WHERE u.id = $1::text::uuid AND a.id = u.application_id AND a.announced_term < $2
"""
_RESIGN = """
    UPDATE application a SET leader = NULL, leader_until = NULL FROM unit u
     WHERE u.id = $1::text::uuid AND a.id = u.application_id AND a.leader = u.number AND a.term = $2
"""
_DETACH_KEPT = """
    UPDATE storage SET unit_id = NULL, unit = '', is_attached = false, life = 'ALIVE', is_kept = false
     WHERE unit_id = $1::text::uuid AND name = $2 AND is_kept
"""
_DETACH = "DELETE FROM storage WHERE unit_id = $1::text::uuid AND name = $2"
# Storages that the unit would have seen with a newer charm are released as well.
_LEAVE_STORAGES = """
    UPDATE storage SET unit_id = NULL, unit = '', is_attached = false, life = 'ALIVE', is_kept = false
     WHERE unit_id = $1::text::uuid AND is_kept
"""
_DROP_STORAGES = "DELETE FROM storage WHERE unit_id = $1::text::uuid"
# The next rotation is due after the interval, counted from now.
ROTATE = f"""
    UPDATE secret s SET rotates_at = {rotation.after_now("s.rotation")}
      FROM unit u
     WHERE u.id = $1::text::uuid AND s.namespace = u.namespace AND s.name = $2
"""  # noqa: S608
# Locked in the order in which all transactions lock secrets, and by a separate statement, so that all of them are
# locked before any is deleted.
_LOCK_SECRETS = "SELECT id FROM secret WHERE unit_id = $1::text::uuid ORDER BY id FOR UPDATE"
_DROP_SECRETS = "DELETE FROM secret WHERE unit_id = $1::text::uuid"
_FORGET_SECRETS = "DELETE FROM secret_reader WHERE unit_id = $1::text::uuid"
_END_TASKS = """
    UPDATE task SET state = 'CANCELLED', message = 'its unit was removed', finished_at = clock_timestamp()
     WHERE unit_id = $1::text::uuid AND state IN ('PENDING', 'RUNNING')
"""
# No member is kept for the sake of this unit after it has left.
_FORGET_MEMBERS = "DELETE FROM unit_member WHERE unit_id = $1::text::uuid"
_DIE = """
    UPDATE unit SET life = 'DEAD', phase = 'TEARDOWN', next_tick_at = NULL, force_at = NULL WHERE id = $1::text::uuid
"""


STATEMENTS: Mapping[type[change.Change], tuple[str, ...]] = {
    change.RunCode: (_RUN_CODE,),
    change.EnterPhase: (_ENTER_PHASE,),
    change.BeginEntering: (_BEGIN_ENTERING,),
    change.Enter: (_ENTER,),
    change.Leave: (_FORGET_ENTERING, _LEAVE),
    change.Refer: (_REFER,),
    change.LetGo: (_LET_GO,),
    change.Announce: (_ANNOUNCE,),
    change.Resign: (_RESIGN,),
    change.Detach: (_DETACH_KEPT, _DETACH),
    change.Rotated: (ROTATE,),
    change.Die: (
        *(_LEAVE_STORAGES, _DROP_STORAGES, _FORGET_MEMBERS),
        *(_LOCK_SECRETS, _DROP_SECRETS, _FORGET_SECRETS, _END_TASKS, _DIE),
    ),
}


async def apply(transaction: Transaction, unit_id: str, changes: Iterable[change.Change]) -> None:
    """Write changes in order.

    The unit is locked, and before it the application for `Announce` and `Resign`. Raises `LookAgain` if a row that they
    refer to is gone.
    """
    for each in changes:
        for statement in STATEMENTS[type(each)]:
            with look_again():
                found = await transaction.fetch(statement, unit_id, *dataclasses.astuple(each))
        if isinstance(each, change.Refer | change.BeginEntering) and not found:
            raise LookAgain
