"""All benchmarks, in the order of the page."""

from bench import commit, idle, replay
from bench.context import Case

CASES = (
    Case("commit", commit.run),
    Case("replay", replay.run),
    Case("idle", idle.run),
)
