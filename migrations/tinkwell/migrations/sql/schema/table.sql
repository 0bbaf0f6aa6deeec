-- Whoever may create a function here could have it called in place of one of ours, by functions that run as the owner.
-- Databases that come from PostgreSQL 14 let everybody.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

-- What stands in this schema, beside the revision that Alembic keeps.

-- The files that are run whole whenever their text has changed, by the SHA-256 of what was run.
CREATE TABLE schema_file (
    name   text PRIMARY KEY,
    sha256 text NOT NULL
);

-- The release that brought the schema to where it is, and the oldest one that may still run on it.
CREATE TABLE schema_release (
    one            boolean PRIMARY KEY DEFAULT true CHECK (one),
    release        text NOT NULL,
    oldest_release text NOT NULL
);
