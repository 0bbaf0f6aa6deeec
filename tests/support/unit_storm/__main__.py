"""Run storms of both profiles, then all orders of two units and three requests, and print what they violate.

`make storm-units`, or with SEED=7 STORMS=10000.
"""

import argparse
import sys

from support.unit_storm.interleaving import TRIPLES, explore, two_units
from support.unit_storm.storm import Storm
from tinkwell.core.unit.kinds import Profile


def main() -> int:
    """Return 1 if an invariant is violated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first storm's seed; each next one's is one more")
    parser.add_argument("--storms", type=int, default=2000, help="how many storms, of both profiles together")
    options = parser.parse_args()
    return 1 if _run_storms(options.seed, options.storms) + _try_orders() else 0


def _run_storms(first: int, count: int) -> int:
    events = entries = failed = 0
    for seed in range(first, first + count // 2):
        for profile in Profile:
            storm = Storm(seed=seed, profile=profile)
            for violation in storm.run():
                failed += 1
                print(f"storm {seed} of profile {profile}: {violation}")
            entries += len(storm.world.records())
            events += sum(entry.event_type == "UNIT_EVENT_COMMITTED" for entry in storm.world.records())
    print(f"{count} storms: {events} events committed, {entries} entries of the log, {failed} violations", flush=True)
    return failed


def _try_orders() -> int:
    worlds = ends = failed = 0
    for profile in Profile:
        for requests in TRIPLES:
            found = explore(two_units(profile, are_started=False), requests)
            worlds += found.worlds
            ends += found.ends
            failed += len(found.violations)
            for violation in found.violations:
                print(f"{', '.join(requests)} in profile {profile}: {violation}")
    print(f"all orders of two units and three requests: {worlds} worlds, {ends} of them ends, {failed} violations")
    return failed


if __name__ == "__main__":
    sys.exit(main())
