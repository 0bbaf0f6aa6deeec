-- Charts, as they were uploaded: each is known by the digest of its archive, and never changes.

CREATE DOMAIN chart_archive AS bytea CONSTRAINT chart_archive_size CHECK (octet_length(VALUE) <= 8388608);
CREATE DOMAIN chart_metadata AS json CONSTRAINT chart_metadata_size CHECK (octet_length(VALUE::text) <= 1048576);

-- metadata is Chart.yaml. A chart that nothing names goes some time after used_at, when it was last uploaded or asked for.
CREATE TABLE chart (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version       bigint NOT NULL DEFAULT 1,
    digest        text NOT NULL,
    name          text NOT NULL,
    chart_version text NOT NULL,
    metadata      chart_metadata NOT NULL,
    warnings      text[] NOT NULL DEFAULT '{}',
    archive       chart_archive NOT NULL,
    size          integer NOT NULL,
    used_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at    timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at    timestamptz NOT NULL DEFAULT statement_timestamp(),
    CONSTRAINT chart_digest UNIQUE (digest),
    CONSTRAINT chart_digest_form CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT chart_size CHECK (size = octet_length(archive))
);
CREATE INDEX chart_name ON chart (name, created_at);
CREATE INDEX chart_used ON chart (used_at);
-- It is compressed already.
ALTER TABLE chart ALTER archive SET STORAGE EXTERNAL;

-- What a release is made of; nothing where manifests alone were applied. An operation that brings about what is stored
-- has none of its own.
ALTER TABLE release_revision ADD COLUMN chart_id uuid CONSTRAINT release_revision_chart_known REFERENCES chart;
ALTER TABLE operation ADD COLUMN chart_id uuid CONSTRAINT operation_chart_known REFERENCES chart;
CREATE INDEX release_revision_chart ON release_revision (chart_id) WHERE chart_id IS NOT NULL;
CREATE INDEX operation_chart ON operation (chart_id) WHERE chart_id IS NOT NULL;
-- The chart of the revision that is deployed, or of the newest one where none was; empty for none.
ALTER TABLE release ADD COLUMN chart_name text NOT NULL DEFAULT '', ADD COLUMN chart_version text NOT NULL DEFAULT '';
