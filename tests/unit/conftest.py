"""How property tests run: without a deadline for an example, since how long one takes says more about the machine."""

import hypothesis

hypothesis.settings.register_profile("tinkwell", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("tinkwell")
