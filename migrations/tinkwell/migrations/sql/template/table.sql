-- Templates. One limit holds for every writer, psql included: 1 MiB of YAML or JSON. It is said by a domain for the
-- reason that the log has: PostgreSQL reads a table's checks anew for every statement.

CREATE DOMAIN template_text AS text CONSTRAINT template_size CHECK (octet_length(VALUE) <= 1048576);

CREATE TABLE template (
    id         uuid PRIMARY KEY,
    version    bigint NOT NULL DEFAULT 1,
    name       text NOT NULL,
    data       template_text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    deleted_at timestamptz,
    CONSTRAINT template_name_form CHECK (name ~ '^[a-zA-Z0-9_-]{1,199}$')
);
CREATE UNIQUE INDEX template_name ON template (name) WHERE deleted_at IS NULL;
CREATE INDEX template_live ON template (created_at, id) WHERE deleted_at IS NULL;
