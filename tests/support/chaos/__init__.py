"""Everything goes wrong at once, seeded: writers, watchers, servers and PostgreSQL under faults, then a judgement."""
