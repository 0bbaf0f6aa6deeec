"""Which versions are in a range, by the rules on which npm and Helm agree. Only this module imports semantic_version.

A prerelease is in an alternative of a range only if the alternative mentions a prerelease: `>=1.2.0-0` holds
1.3.0-rc.1, and `>=1.2.0` does not.
"""

import semantic_version

from tinkwell.core.release.chart.file import constraint
from tinkwell.core.release.chart.file.constraint import Comparator

# A number above all others: the release before 1.3.0 is 1.2 with this patch number.
_HIGHEST = 2**63


def is_within(version: str, range_text: str) -> bool:
    """Return whether a version is in a range; "" is the range of all versions. `constraint` checks the syntax."""
    if not range_text.strip():
        return True
    wanted = semantic_version.Version(version.removeprefix("v"))
    return any(_holds(alternative, wanted) for alternative in constraint.read_range("version", range_text))


def _holds(alternative: tuple[Comparator, ...], wanted: semantic_version.Version) -> bool:
    if wanted.prerelease and not any(comparator.prerelease for comparator in alternative):
        return False
    return all(_satisfies(comparator, wanted) for comparator in alternative)


def _satisfies(comparator: Comparator, wanted: semantic_version.Version) -> bool:
    if comparator.operator == "!=":
        return not _satisfies(Comparator("=", comparator.release, comparator.prerelease), wanted)
    if comparator.prerelease:
        return _satisfies_prerelease(comparator, wanted)
    if not comparator.release:
        return True
    spec = semantic_version.NpmSpec(f"{comparator.operator}{comparator.release}")
    # No release is between a prerelease and its neighbours, so bounds that hold both neighbours hold the prerelease.
    return all(spec.match(neighbour) for neighbour in _neighbours(wanted))


def _satisfies_prerelease(comparator: Comparator, wanted: semantic_version.Version) -> bool:
    """Compare with a prerelease; NpmSpec does so only within one patch version."""
    bound = semantic_version.Version(f"{comparator.release}-{comparator.prerelease}")
    compared = wanted.truncate("prerelease")
    match comparator.operator:
        case "=":
            return bool(compared == bound)
        case ">":
            return bool(compared > bound)
        case ">=":
            return bool(compared >= bound)
        case "<":
            return bool(compared < bound)
        case "<=":
            return bool(compared <= bound)
        case _:
            spec = semantic_version.NpmSpec(f"{comparator.operator}{comparator.release}")
            return bool(compared >= bound) and spec.match(wanted.truncate())


def _neighbours(wanted: semantic_version.Version) -> list[semantic_version.Version]:
    """Return the releases before and after a prerelease; for a release, the release itself."""
    after = wanted.truncate()
    if not wanted.prerelease:
        return [after]
    if after.patch:
        before = {"major": after.major, "minor": after.minor, "patch": after.patch - 1}
    elif after.minor:
        before = {"major": after.major, "minor": after.minor - 1, "patch": _HIGHEST}
    elif after.major:
        before = {"major": after.major - 1, "minor": _HIGHEST, "patch": _HIGHEST}
    else:
        return [after]
    return [semantic_version.Version(**before), after]


def precedence(version: str) -> semantic_version.Version:
    """Return the sort key of a version."""
    return semantic_version.Version(version.removeprefix("v"))
