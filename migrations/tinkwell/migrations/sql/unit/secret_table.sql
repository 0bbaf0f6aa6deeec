-- Secrets of units, applications and users, and the tasks of units.

-- The secret that an event of a unit is about, by its name, and the revision.
ALTER TABLE unit_event
    ADD COLUMN secret text NOT NULL DEFAULT '',
    ADD COLUMN secret_revision bigint NOT NULL DEFAULT 0;

-- A secret without its content, which stands sealed beside its revisions. name is what charms know it by. It is a unit's
-- (unit_id), an application's, or a user's, who has neither; application_id is set for both of the former, and owner is
-- the name of the unit or the application. The label is the owner's, empty for none. At rotates_at its owner is asked for
-- other content, NULL where it is not.
CREATE TABLE secret (
    id             uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version        bigint NOT NULL DEFAULT 1,
    namespace      unit_name NOT NULL CONSTRAINT secret_namespace_known REFERENCES namespace (name),
    name           text NOT NULL,
    application_id uuid CONSTRAINT secret_application_known REFERENCES application ON DELETE CASCADE,
    unit_id        uuid CONSTRAINT secret_unit_known REFERENCES unit ON DELETE CASCADE,
    owner          text NOT NULL DEFAULT '',
    label          text NOT NULL DEFAULT '',
    description    text NOT NULL DEFAULT '',
    rotation       text NOT NULL DEFAULT 'NEVER',
    rotates_at     moment,
    latest         bigint NOT NULL DEFAULT 1,
    created_at     moment NOT NULL DEFAULT clock_timestamp(),
    updated_at     moment NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT secret_name UNIQUE (namespace, name),
    CONSTRAINT secret_name_form CHECK (name ~ '^[0-9a-v]{20}$'),
    CONSTRAINT secret_owner CHECK ((application_id IS NULL) = (owner = '') AND (unit_id IS NULL OR owner LIKE '%/%')),
    CONSTRAINT secret_label_size CHECK (char_length(label) <= 100),
    CONSTRAINT secret_description_size CHECK (char_length(description) <= 1000),
    CONSTRAINT secret_rotation_known
        CHECK (rotation IN ('NEVER', 'HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY', 'QUARTERLY', 'YEARLY')),
    CONSTRAINT secret_latest CHECK (latest > 0)
);
CREATE UNIQUE INDEX secret_label ON secret (namespace, owner, label) WHERE label <> '';
CREATE INDEX secret_application ON secret (application_id) WHERE application_id IS NOT NULL;
CREATE INDEX secret_unit ON secret (unit_id) WHERE unit_id IS NOT NULL;
CREATE INDEX secret_rotates ON secret (rotates_at) WHERE rotates_at IS NOT NULL;

-- A revision that is there. What was sealed of it goes with it.
CREATE TABLE secret_revision (
    secret_id  uuid NOT NULL REFERENCES secret ON DELETE CASCADE,
    revision   bigint NOT NULL,
    expires_at moment,
    created_at moment NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (secret_id, revision),
    CONSTRAINT secret_revision_number CHECK (revision > 0)
);
CREATE INDEX secret_revision_expires ON secret_revision (expires_at) WHERE expires_at IS NOT NULL;

-- Who may read a secret beside its owner: the units of an application, or one of them, as long as they are in a relation. A
-- user's secret is granted to an application without one.
CREATE TABLE secret_grant (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    secret_id      uuid NOT NULL REFERENCES secret ON DELETE CASCADE,
    relation_id    uuid REFERENCES relation ON DELETE CASCADE,
    application_id uuid NOT NULL REFERENCES application ON DELETE CASCADE,
    unit_id        uuid REFERENCES unit ON DELETE CASCADE
);
CREATE UNIQUE INDEX secret_grant_once ON secret_grant (
    secret_id, application_id, coalesce(relation_id, '00000000-0000-0000-0000-000000000000'),
    coalesce(unit_id, '00000000-0000-0000-0000-000000000000')
);
CREATE INDEX secret_grant_relation ON secret_grant (relation_id) WHERE relation_id IS NOT NULL;
CREATE INDEX secret_grant_application ON secret_grant (application_id);
CREATE INDEX secret_grant_unit ON secret_grant (unit_id) WHERE unit_id IS NOT NULL;

-- What a unit was told of a secret, which its own commits alone write: the revision that it reads, 0 for none, the last one
-- that secret-changed has told of, and of those that it owns which revisions it knows to have expired, or to be read by
-- nobody. The label is the unit's own for what it does not own, empty for none.
CREATE TABLE secret_reader (
    secret_id uuid NOT NULL REFERENCES secret ON DELETE CASCADE,
    unit_id   uuid NOT NULL REFERENCES unit ON DELETE CASCADE,
    tracked   bigint NOT NULL DEFAULT 0,
    told      bigint NOT NULL DEFAULT 0,
    label     text NOT NULL DEFAULT '',
    expired   bigint[] NOT NULL DEFAULT '{}',
    removed   bigint[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (secret_id, unit_id),
    CONSTRAINT secret_reader_label_size CHECK (char_length(label) <= 100)
);
CREATE INDEX secret_reader_unit ON secret_reader (unit_id);
CREATE UNIQUE INDEX secret_reader_label ON secret_reader (unit_id, label) WHERE label <> '';

CREATE DOMAIN task_state AS text CONSTRAINT task_state_known
    CHECK (VALUE IN ('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'TIMEOUT', 'CANCELLED'));

-- An action of a charm that a unit is to run, or a command. number is their order. charm is what the unit runs it on, and
-- lease_token is that of the agent which runs it. is_cancelled: it runs, and its agent is to end it.
CREATE TABLE task (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version         bigint NOT NULL DEFAULT 1,
    number          bigint GENERATED ALWAYS AS IDENTITY,
    namespace       text NOT NULL,
    application_id  uuid NOT NULL,
    unit_id         uuid NOT NULL REFERENCES unit ON DELETE CASCADE,
    unit            text NOT NULL,
    kind            text NOT NULL,
    name            text NOT NULL DEFAULT '',
    parameters      unit_document NOT NULL DEFAULT '{}',
    arguments       text[] NOT NULL DEFAULT '{}',
    state           task_state NOT NULL DEFAULT 'PENDING',
    result          unit_document NOT NULL DEFAULT '{}',
    message         text NOT NULL DEFAULT '',
    timeout_seconds integer NOT NULL,
    actor           text NOT NULL DEFAULT '',
    charm           text NOT NULL DEFAULT '',
    lease_token     bigint NOT NULL DEFAULT 0,
    is_cancelled    boolean NOT NULL DEFAULT false,
    deadline_at     moment,
    created_at      moment NOT NULL DEFAULT clock_timestamp(),
    updated_at      moment NOT NULL DEFAULT clock_timestamp(),
    started_at      moment,
    finished_at     moment,
    CONSTRAINT task_kind_known CHECK (kind IN ('ACTION', 'EXEC')),
    CONSTRAINT task_message_size CHECK (char_length(message) <= 1000),
    CONSTRAINT task_arguments_size CHECK (octet_length(arguments::text) <= 1048576),
    CONSTRAINT task_timeout CHECK (timeout_seconds BETWEEN 1 AND 86400)
);
-- One task that runs for each unit.
CREATE UNIQUE INDEX task_active ON task (unit_id) WHERE state = 'RUNNING';
CREATE INDEX task_pending ON task (unit_id, number) WHERE state = 'PENDING';
CREATE INDEX task_unit ON task (unit_id, number);
CREATE INDEX task_deadline ON task (deadline_at) WHERE state = 'RUNNING';

-- What a task tells while it runs. The number is given by whoever runs it, so that a repeated line is recognised.
CREATE TABLE task_line (
    task_id uuid NOT NULL REFERENCES task ON DELETE CASCADE,
    number  bigint NOT NULL,
    line    text NOT NULL,
    PRIMARY KEY (task_id, number),
    CONSTRAINT task_line_size CHECK (octet_length(line) <= 131072)
);
