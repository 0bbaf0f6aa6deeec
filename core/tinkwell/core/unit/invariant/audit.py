"""All invariants of a unit's life, checked on entries of the log alone.

The first line of each check names its invariant. The checks of `rest` hold only when no event is due.
"""

from collections.abc import Iterable, Sequence

from tinkwell.core.unit.invariant import (
    delivery,
    leadership,
    membership,
    operation,
    relation,
    rest,
    secret,
    setup,
    task,
    teardown,
)
from tinkwell.core.unit.invariant.history import Gatherer, History
from tinkwell.core.unit.invariant.record import Entry, read
from tinkwell.core.unit.invariant.violation import Check, Violation

CHECKS: Sequence[Check] = (
    setup.storage_comes_first,
    setup.install_comes_once,
    setup.relations_are_created_in_setup,
    setup.leader_step_comes_once,
    setup.one_config_changed_in_setup,
    setup.start_follows_config_changed,
    setup.setup_is_in_order,
    setup.nothing_else_before_start,
    setup.peers_are_created_in_setup,
    setup.setup_is_frozen,
    relation.created_comes_first,
    relation.changed_follows_joined,
    relation.changed_is_of_members,
    relation.joined_never_follows_departed,
    relation.departed_is_of_members,
    relation.is_one_to_one,
    relation.broken_in_operation_has_a_cause,
    membership.leaver_comes_first,
    membership.relation_outlives_its_members,
    membership.newcomer_is_told_of_no_older_ones,
    membership.older_ones_leave_mirrored,
    membership.echo_is_of_what_others_may_see,
    membership.siblings_meet_among_peers_only,
    operation.upgrade_is_followed,
    operation.code_never_goes_back,
    operation.operation_comes_after_start,
    operation.update_status_comes_last,
    operation.post_follows_pre,
    operation.storage_is_one_to_one,
    operation.configuration_is_seen,
    leadership.leader_is_told_so,
    leadership.one_leader_for_each_term,
    leadership.settings_follow_elections,
    leadership.leader_is_replaced,
    teardown.teardown_is_in_order,
    teardown.stop_if_started,
    teardown.remove_if_installed,
    teardown.only_teardown_after_dying,
    teardown.nothing_after_force,
    secret.secrets_come_in_operation,
    secret.secrets_come_to_whom_they_concern,
    secret.changes_are_told_once,
    secret.what_nobody_reads_is_told_once,
    secret.rotation_was_wanted,
    task.tasks_come_after_start,
    task.tasks_part_no_pair,
    task.tasks_run_alone,
    delivery.one_event_in_flight,
    delivery.attempts_follow_each_other,
    delivery.ordinals_are_dense,
    delivery.effects_come_with_their_event,
    rest.all_bags_were_told,
    rest.all_members_have_joined,
    rest.all_leavers_have_departed,
    rest.own_writes_were_echoed,
    rest.all_relations_were_told,
    rest.today_is_seen,
    rest.everyone_has_ended,
)


def gather(entries: Iterable[Entry], *, namespace: str = "default", is_at_rest: bool = False) -> History:
    """Return the history of a namespace from entries of the log, which are in the log's order.

    Leaves out what was created before the first entry, because its earlier entries are missing.

    Raises:
        ValueError: an entry's data are not what its type has.
    """
    records = (record for record in map(read, entries) if record is not None)
    return Gatherer(namespace).gather(records, is_at_rest=is_at_rest)


def judge(history: History) -> list[Violation]:
    """Return every violation of an invariant, in the order of the checks."""
    return [violation for check in CHECKS for violation in check(history)]


def audit(entries: Iterable[Entry], *, namespace: str = "default", is_at_rest: bool = False) -> list[Violation]:
    """Return every violation in some entries. `is_at_rest`: no event was due at the end, and every agent was alive."""
    return judge(gather(entries, namespace=namespace, is_at_rest=is_at_rest))
