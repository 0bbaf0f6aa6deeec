"""All benchmarks, in the order of the page."""

from bench import commit
from bench.context import Case

CASES = (Case("commit", commit.run),)
