-- A lease is an owner's session: that of a provisioner or an agent. It is renewed by one statement, however much is
-- held under it. Leases have no events.
CREATE TABLE lease (
    -- Fences: an owner that comes back gets a greater one, and what still knows the former one is refused.
    token       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- What holds refer to. It stays while the owner comes back with the same engine, so that its holds come with it.
    id          uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT lease_id UNIQUE,
    owner       text NOT NULL CONSTRAINT lease_owner UNIQUE,
    engine      text NOT NULL,
    acquired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at  timestamptz NOT NULL
);
