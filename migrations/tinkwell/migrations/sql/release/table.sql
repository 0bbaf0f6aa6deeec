-- Releases, what was ever installed of them, and the operations that change them.

CREATE DOMAIN release_state AS text CONSTRAINT release_state_known CHECK (
    VALUE IN ('PENDING_INSTALL', 'PENDING_UPGRADE', 'PENDING_ROLLBACK', 'DEPLOYED', 'FAILED', 'UNINSTALLING',
              'UNINSTALLED')
);
CREATE DOMAIN revision_state AS text CONSTRAINT revision_state_known
    CHECK (VALUE IN ('PENDING', 'DEPLOYED', 'FAILED', 'SUPERSEDED', 'UNINSTALLED'));
CREATE DOMAIN operation_kind AS text CONSTRAINT operation_kind_known
    CHECK (VALUE IN ('INSTALL', 'UPGRADE', 'ROLLBACK', 'UNINSTALL'));
CREATE DOMAIN operation_phase AS text CONSTRAINT operation_phase_known
    CHECK (VALUE IN ('LOAD', 'RENDER', 'VALIDATE', 'APPLY', 'CLEANUP'));
CREATE DOMAIN node_kind AS text CONSTRAINT node_kind_known CHECK (VALUE IN ('RESOURCE'));
CREATE DOMAIN node_task AS text CONSTRAINT node_task_known CHECK (VALUE IN ('INSTALL', 'REMOVE'));
CREATE DOMAIN node_state AS text CONSTRAINT node_state_known CHECK (
    VALUE IN ('PENDING', 'INSTALLING', 'REMOVING', 'READY', 'FAILED', 'SKIPPED', 'REMOVED', 'LEFT')
);
CREATE DOMAIN step_kind AS text CONSTRAINT step_kind_known
    CHECK (VALUE IN ('INIT', 'STATE', 'ACTION', 'RECHECK', 'DESTROY'));
CREATE DOMAIN resource_status AS text CONSTRAINT resource_status_known
    CHECK (VALUE IN ('UNKNOWN', 'VALID', 'STALE', 'ABSENT', 'LEFT'));

-- Documents keep the text that they were written with, and with it the order of their keys.
CREATE DOMAIN release_document AS json CONSTRAINT release_document_size
    CHECK (octet_length(VALUE::text) <= 8388608);
CREATE DOMAIN resource_config AS json CONSTRAINT resource_config_size
    CHECK (octet_length(VALUE::text) <= 3145728);
CREATE DOMAIN resource_answer AS json CONSTRAINT resource_answer_size
    CHECK (octet_length(VALUE::text) <= 1048576);

-- revision is the last one that was DEPLOYED, 0 for none, and latest_revision the newest that there was; operation_id is
-- the newest operation. A release that was uninstalled is marked as deleted, which frees its name.
CREATE TABLE release (
    id              uuid PRIMARY KEY,
    version         bigint NOT NULL DEFAULT 1,
    namespace       text NOT NULL,
    name            text NOT NULL,
    state           release_state NOT NULL DEFAULT 'PENDING_INSTALL',
    revision        integer NOT NULL DEFAULT 0,
    latest_revision integer NOT NULL DEFAULT 0,
    operation_id    uuid NOT NULL,
    engine          text NOT NULL DEFAULT '',
    description     text NOT NULL DEFAULT '',
    created_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    deleted_at      timestamptz,
    CONSTRAINT release_name_form CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$'),
    CONSTRAINT release_namespace_form CHECK (namespace ~ '^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$'),
    CONSTRAINT release_deletion CHECK (deleted_at IS NULL OR state = 'UNINSTALLED')
);
CREATE UNIQUE INDEX release_name ON release (namespace, name) WHERE deleted_at IS NULL;
CREATE INDEX release_deleted ON release (deleted_at) WHERE deleted_at IS NOT NULL;

-- What one operation installed. source is what the user gave, the others what came of it: manifest, the places in it
-- that are evaluated late, and the plan of the installation alone. A rollback has the documents of rollback_of.
CREATE TABLE release_revision (
    release_id   uuid NOT NULL REFERENCES release ON DELETE CASCADE,
    revision     integer NOT NULL,
    version      bigint NOT NULL DEFAULT 1,
    state        revision_state NOT NULL DEFAULT 'PENDING',
    source       release_document NOT NULL,
    manifest     release_document NOT NULL,
    late         release_document NOT NULL,
    plan         release_document NOT NULL,
    rollback_of  integer NOT NULL DEFAULT 0,
    operation_id uuid NOT NULL,
    description  text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (release_id, revision),
    CONSTRAINT release_revision_number CHECK (revision > 0)
);
CREATE UNIQUE INDEX release_revision_deployed ON release_revision (release_id) WHERE state = 'DEPLOYED';

-- A change of a release, from its request to its end. request is what was asked beside source, options and reason, so
-- that a repeated request is told from another one. plan is what is walked, removals included, and is there from
-- SubmitPlan on; without one the release goes back to its former_state. The operation is held under lease_id, which has
-- no foreign key: a lease that is not there is dead.
CREATE TABLE operation (
    id                   uuid PRIMARY KEY,
    version              bigint NOT NULL DEFAULT 1,
    release_id           uuid NOT NULL REFERENCES release ON DELETE CASCADE,
    revision             integer NOT NULL DEFAULT 0,
    kind                 operation_kind NOT NULL,
    state                lifecycle_state NOT NULL DEFAULT 'PENDING',
    phase                operation_phase NOT NULL DEFAULT 'LOAD',
    request              jsonb NOT NULL,
    options              jsonb NOT NULL,
    source               release_document,
    plan                 release_document,
    former_state         release_state NOT NULL,
    rollback_of          integer NOT NULL DEFAULT 0,
    follows              uuid,
    cause                jsonb,
    -- As current_actor says; that is a function which writers cannot call.
    actor                text NOT NULL
        DEFAULT coalesce(nullif(current_setting('tinkwell.actor', true), ''), session_user),
    reason               text NOT NULL DEFAULT '',
    total_nodes          integer NOT NULL DEFAULT 0,
    changed_nodes        integer NOT NULL DEFAULT 0,
    failed_nodes         integer NOT NULL DEFAULT 0,
    skipped_nodes        integer NOT NULL DEFAULT 0,
    lease_id             uuid,
    cancel_requested_at  timestamptz,
    cancel_grace_seconds integer NOT NULL DEFAULT 0,
    cancel_reason        text NOT NULL DEFAULT '',
    created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at           timestamptz,
    deadline_at          timestamptz NOT NULL,
    finished_at          timestamptz
);
CREATE UNIQUE INDEX operation_active ON operation (release_id) WHERE state IN ('PENDING', 'RUNNING');
CREATE INDEX operation_unfinished ON operation (created_at, id) WHERE state IN ('PENDING', 'RUNNING');
CREATE INDEX operation_release ON operation (release_id, created_at, id);

-- A place in the plan of an operation. What is the same for all of an operation is repeated here and in its steps, since
-- their events have it.
CREATE TABLE node (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version      bigint NOT NULL DEFAULT 1,
    operation_id uuid NOT NULL REFERENCES operation ON DELETE CASCADE,
    release_id   uuid NOT NULL,
    path         text NOT NULL,
    kind         node_kind NOT NULL DEFAULT 'RESOURCE',
    task         node_task NOT NULL,
    ordinal      integer NOT NULL,
    batch        integer NOT NULL,
    state        node_state NOT NULL DEFAULT 'PENDING',
    changed      boolean NOT NULL DEFAULT false,
    message      text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT statement_timestamp(),
    started_at   timestamptz,
    finished_at  timestamptz,
    CONSTRAINT node_path UNIQUE (operation_id, path),
    CONSTRAINT node_place UNIQUE (operation_id, ordinal)
);

-- A call of the resource protocol. args is NULL where they are the image's own.
CREATE TABLE step (
    id           uuid PRIMARY KEY,
    version      bigint NOT NULL DEFAULT 1,
    node_id      uuid NOT NULL REFERENCES node ON DELETE CASCADE,
    operation_id uuid NOT NULL,
    release_id   uuid NOT NULL,
    path         text NOT NULL,
    ordinal      integer NOT NULL,
    kind         step_kind NOT NULL,
    name         text NOT NULL DEFAULT '',
    description  text NOT NULL DEFAULT '',
    image        text NOT NULL DEFAULT '',
    entrypoint   text NOT NULL DEFAULT '',
    args         text[],
    state        lifecycle_state NOT NULL DEFAULT 'PENDING',
    attempt      integer NOT NULL DEFAULT 0,
    exit_code    bigint,
    message      text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at   timestamptz,
    finished_at  timestamptz,
    CONSTRAINT step_place UNIQUE (node_id, ordinal)
);

-- The tables below have no event triggers.

-- Output of steps. The number is given by whoever runs the attempt, so that a repeated line is recognised. Steps run side
-- by side, so the output of an operation is in the order of the ids: who adds lines has locked the operation's row.
CREATE TABLE step_log (
    id           bigint GENERATED ALWAYS AS IDENTITY,
    operation_id uuid NOT NULL,
    step_id      uuid NOT NULL REFERENCES step ON DELETE CASCADE,
    attempt      integer NOT NULL,
    number       bigint NOT NULL,
    stream       text NOT NULL,
    line         text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (step_id, attempt, number),
    CONSTRAINT step_log_stream_known CHECK (stream IN ('STDOUT', 'STDERR'))
);
CREATE INDEX step_log_operation ON step_log (operation_id, id);

-- The resources of a release as they were seen last, by the operation that installed `revision`. A resource is owned if
-- the release made it.
CREATE TABLE release_resource (
    release_id  uuid NOT NULL REFERENCES release ON DELETE CASCADE,
    path        text NOT NULL,
    type        text NOT NULL,
    revision    integer NOT NULL,
    image_id    text NOT NULL DEFAULT '',
    init        resource_answer,
    config      resource_config,
    state       resource_answer,
    status      resource_status NOT NULL DEFAULT 'UNKNOWN',
    owned       boolean NOT NULL DEFAULT false,
    observed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (release_id, path)
);
