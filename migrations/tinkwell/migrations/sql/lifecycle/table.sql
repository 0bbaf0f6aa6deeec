-- What was emitted in the life of a release, by the operation in which it was; each once for a chart, whose path is empty
-- where manifests alone were applied. handlers are those that heard it, as JSON, in their order. What is prepared anew
-- after a change of owner is emitted anew, and written over.
CREATE TABLE lifecycle (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version      bigint NOT NULL DEFAULT 1,
    operation_id uuid NOT NULL REFERENCES operation ON DELETE CASCADE,
    release_id   uuid NOT NULL,
    ordinal      integer NOT NULL,
    event        text NOT NULL,
    chart        text NOT NULL DEFAULT '',
    handlers     json NOT NULL DEFAULT '[]',
    outcome      text NOT NULL,
    message      text NOT NULL DEFAULT '',
    seconds      double precision NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT lifecycle_once UNIQUE (operation_id, event, chart),
    CONSTRAINT lifecycle_place UNIQUE (operation_id, ordinal),
    CONSTRAINT lifecycle_outcome_known CHECK (outcome IN ('SUCCEEDED', 'WARNED', 'FAILED')),
    CONSTRAINT lifecycle_size CHECK (octet_length(handlers::text) <= 1048576)
);

-- What an operation came to that only looked: the document of a plan. plan_of is the operation whose plan is applied.
ALTER TABLE operation ADD COLUMN result release_document, ADD COLUMN plan_of uuid;
-- Which resources were found to be different from what was installed, as a digest; empty for none.
ALTER TABLE release ADD COLUMN drift text NOT NULL DEFAULT '';
CREATE INDEX release_planned ON release (created_at) WHERE state = 'PLANNED';
