"""How units are given their events: grant, run, commit. All of it is decided under the lock of the unit's row.

    NextEvent ──▶ elect? ──▶ [application] unit ──▶ fence ──▶ in flight? ──▶ judge it ──▶ next_event ──▶ RUNNING
    CommitEvent ───────────▶ [application] unit ──▶ fence ──▶ effects ──▶ advance ──▶ COMMITTED ──▶ next_event ──▶ …
    FailEvent ────────────────────────────▶ unit ──▶ fence ──▶ ERROR, or LOST

**Hold.** A unit is held by the lease that serves it (`unit.lease_id`), taken by the first NextEvent and kept across
restarts of its agent, since a lease keeps its id while its owner has the same engine. An event in flight has the token
under which its attempt was granted. Its own lease with the same token is given the same attempt again; with another
token, or another lease once that is dead, the attempt is lost. A commit is heard from the lease that holds the unit,
whatever its token, as long as the attempt is the current one.

**Locks**, all FOR NO KEY UPDATE, in this order: the application, if the unit leads it, writes its bag or commits
`install`, whose plan has all relations that are there; the unit; the relation that it enters. The unit is looked at
after that, by one statement. Who finds only under the unit's lock that it leads begins again, with the application
locked first.

Many units may end such events at once. Of one server's calls those that lock the same row come one after the other
before any of them has a transaction (`crowd`), so that they do not keep the sessions of all others.

**After a commit** the unit is looked at once more if that changes what is seen of the unit, beside what it was told and
its own bags: a phase, a membership, storage, a secret, the time of `update-status`. Else the next event is decided on
what was seen before the commit; whatever others have changed meanwhile names the unit to its agent, which asks again.
So an agent need not ask after a commit that is answered with "nothing is due", unless that is due in no time: nobody
has looked then, or somebody has to be elected.

**Lost, failed, refused.**

    RUNNING, lost once           the same event, attempt + 1, unless the verdict is another one
    RUNNING, lost twice in a row ERROR, and waits as after a failure
    RUNNING, failed              ERROR; retry_at after 5 s × 2ⁿ ± half, at most 5 min; none where retry is off
    RUNNING, effects refused     ERROR (COMMIT_REFUSED)
    RUNNING, term over           lost (NOT_LEADER)
    ERROR                        at each NextEvent the verdict is asked first, also before retry_at

**Transactions.** An election, a grant, a commit and each piece of reaping are transactions of their own. A foreign key
that fails in a grant or a reap (23503) means that somebody was faster: look again.
"""
