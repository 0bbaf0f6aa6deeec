"""All that every server answers alike, the real one and the fake that users test with."""

import pytest

pytest.register_assert_rewrite(
    "support.client_conformance",
    "support.deadline_conformance",
    "support.lease_conformance",
    "support.release_conformance",
    "support.release_chart_conformance",
    "support.release_end_conformance",
    "support.release_explain_conformance",
    "support.release_lifecycle_conformance",
    "support.release_looking_conformance",
    "support.release_secret_conformance",
    "support.retention_conformance",
    "support.unit_conformance",
    "support.unit_secret_conformance",
)

from support import (  # noqa: E402
    client_conformance,
    deadline_conformance,
    lease_conformance,
    release_chart_conformance,
    release_conformance,
    release_end_conformance,
    release_explain_conformance,
    release_lifecycle_conformance,
    release_looking_conformance,
    release_secret_conformance,
    retention_conformance,
    unit_conformance,
    unit_secret_conformance,
)

CHECKS = (
    *client_conformance.CHECKS,
    *lease_conformance.CHECKS,
    *deadline_conformance.CHECKS,
    *retention_conformance.CHECKS,
    *release_conformance.CHECKS,
    *release_end_conformance.CHECKS,
    *release_chart_conformance.CHECKS,
    *release_looking_conformance.CHECKS,
    *release_secret_conformance.CHECKS,
    *release_lifecycle_conformance.CHECKS,
    *release_explain_conformance.CHECKS,
    *unit_conformance.CHECKS,
    *unit_secret_conformance.CHECKS,
)
