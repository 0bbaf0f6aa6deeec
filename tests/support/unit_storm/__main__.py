"""Run storms of both profiles, and print what they violate: `make storm-units`, or with SEED=7 STORMS=10000."""

import argparse
import sys

from support.unit_storm.storm import Storm
from tinkwell.core.unit.kinds import Profile


def main() -> int:
    """Run the storms; return 1 if one of them violates an invariant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first storm's seed; each next one's is one more")
    parser.add_argument("--storms", type=int, default=2000, help="how many storms, of both profiles together")
    options = parser.parse_args()
    events = entries = failed = 0
    for seed in range(options.seed, options.seed + options.storms // 2):
        for profile in Profile:
            storm = Storm(seed=seed, profile=profile)
            for violation in storm.run():
                failed += 1
                print(f"storm {seed} of profile {profile}: {violation}")
            entries += len(storm.world.records())
            events += sum(entry.event_type == "UNIT_EVENT_COMMITTED" for entry in storm.world.records())
    print(f"{options.storms} storms, {events} events committed, {entries} entries of the log, {failed} violations")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
