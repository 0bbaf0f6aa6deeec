"""How units receive their events: grant, run, commit. Each decision is made under the lock of the unit's row.

    NextEvent ──▶ elect? ──▶ [application] unit ──▶ fence ──▶ in flight? ──▶ judge it ──▶ next_event ──▶ RUNNING
    CommitEvent ───────────▶ [application] unit ──▶ fence ──▶ effects ──▶ advance ──▶ COMMITTED ──▶ next_event ──▶ …
    FailEvent ────────────────────────────▶ unit ──▶ fence ──▶ ERROR, or LOST

**Hold.** A unit is held by the lease that serves it (`unit.lease_id`). The first NextEvent takes the hold, and it stays
across restarts of the agent, because a lease keeps its id while its owner has the same engine. An event in flight has
the token under which its attempt was granted. If the holder asks with the same token, it receives the same attempt
again. If it asks with another token, or another lease asks after the holder's is dead, the attempt is lost. A commit is
accepted from the lease that holds the unit, under any token, as long as the attempt is the current one.

**Locks**, all FOR NO KEY UPDATE, in this order: the application, if the unit leads it, writes its bag or commits
`install`, whose plan contains all existing relations; the unit; the relation that it enters. After that, one statement
reads the unit. A transaction that finds out only under the unit's lock that the unit leads begins again, and locks the
application first.

Many units may end such events at once. Calls of one server that lock the same row wait for each other before they open
a transaction (`crowd`), so that they do not take the sessions of all other calls.

**After a commit** the unit is read again if the commit changes more of the unit's view than its own bags and what it
was told: a phase, a membership, storage, a secret, or the time of `update-status`. Otherwise the next event is decided
on what was read before the commit. If another transaction has changed more in the meantime, the unit is named to its
agent, which asks again. So an agent need not ask after a commit whose answer is "nothing is due", unless the answer
says that something is due in 0 seconds: then the commit has not looked for the next event, or an election is needed.

**Lost, failed, refused.**

    RUNNING, lost once           the same event, attempt + 1, unless the verdict is another one
    RUNNING, lost twice in a row ERROR, and waits as after a failure
    RUNNING, failed              ERROR; retry_at after 5 s × 2ⁿ ± half, at most 5 min; none if retry is off
    RUNNING, effects refused     ERROR (COMMIT_REFUSED)
    RUNNING, term over           lost (NOT_LEADER)
    ERROR                        each NextEvent judges it first, also before retry_at

**Transactions.** An election, a grant, a commit and each piece of reaping are transactions of their own. A foreign key
that fails in a grant or a reap (23503) means that another transaction was faster: the work is repeated.
"""
