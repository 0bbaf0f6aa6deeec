-- Workflows, their actions, and all that belongs to them.

CREATE DOMAIN lifecycle_state AS text CONSTRAINT lifecycle_state_known
    CHECK (VALUE IN ('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'TIMEOUT', 'CANCELLED'));

-- A workflow is frozen at creation: data is the rendered template, and the actions below are made from it. The
-- templates that are to recover it are told by name, since they may come and go before they are needed. The workflow
-- that it recovers may be removed by hand, so nothing refers to its row.
CREATE TABLE workflow (
    id                     uuid PRIMARY KEY,
    version                bigint NOT NULL DEFAULT 1,
    template_id            uuid NOT NULL REFERENCES template,
    template_name          text NOT NULL,
    devices                jsonb_document NOT NULL,
    data                   text NOT NULL,
    state                  lifecycle_state NOT NULL DEFAULT 'PENDING',
    total_actions          integer NOT NULL,
    completed_actions      integer NOT NULL DEFAULT 0,
    global_timeout_seconds bigint NOT NULL DEFAULT 0,
    cause                  jsonb,
    created_at             timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at             timestamptz NOT NULL DEFAULT statement_timestamp(),
    started_at             timestamptz,
    deadline_at            timestamptz,
    finished_at            timestamptz,
    deleted_at             timestamptz,
    on_timeout             text NOT NULL DEFAULT '',
    on_failure             text NOT NULL DEFAULT '',
    recovers               uuid,
    CONSTRAINT workflow_progress CHECK (completed_actions BETWEEN 0 AND total_actions)
);
CREATE INDEX workflow_live ON workflow (created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX workflow_unfinished ON workflow (created_at, id)
    WHERE deleted_at IS NULL AND state IN ('PENDING', 'RUNNING');

CREATE TABLE action (
    id                  uuid PRIMARY KEY,
    version             bigint NOT NULL DEFAULT 1,
    workflow_id         uuid NOT NULL REFERENCES workflow ON DELETE CASCADE,
    action_index        integer NOT NULL,
    task_name           text NOT NULL,
    name                text NOT NULL,
    image               text NOT NULL,
    timeout_seconds     bigint NOT NULL DEFAULT 0,
    command             text[] NOT NULL DEFAULT '{}',
    on_timeout          text[] NOT NULL DEFAULT '{}',
    on_failure          text[] NOT NULL DEFAULT '{}',
    worker_id           uuid NOT NULL,
    volumes             text[] NOT NULL DEFAULT '{}',
    environment         text[] NOT NULL DEFAULT '{}',
    pid                 text NOT NULL DEFAULT '',
    state               lifecycle_state NOT NULL DEFAULT 'PENDING',
    attempt             integer NOT NULL DEFAULT 0,
    message             text NOT NULL DEFAULT '',
    exit_code           bigint,
    created_at          timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at          timestamptz NOT NULL DEFAULT statement_timestamp(),
    started_at          timestamptz,
    deadline_at         timestamptz,
    finished_at         timestamptz,
    retries             integer NOT NULL DEFAULT 0,
    retry_delay_seconds integer NOT NULL DEFAULT 5,
    retry_at            timestamptz,
    reboots             boolean NOT NULL DEFAULT false,
    CONSTRAINT action_place UNIQUE (workflow_id, action_index),
    CONSTRAINT action_name UNIQUE (workflow_id, task_name, name)
);
CREATE INDEX action_worker ON action (worker_id, workflow_id);

-- The tables below have no event triggers.

-- Every accepted report about an action, in order. It outlives the workflow.
CREATE TABLE action_status (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id uuid NOT NULL,
    action_id   uuid NOT NULL,
    task_name   text NOT NULL,
    action_name text NOT NULL,
    worker_id   uuid NOT NULL,
    state       text NOT NULL,
    attempt     integer NOT NULL,
    seconds     double precision NOT NULL,
    message     text NOT NULL,
    exit_code   bigint,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX action_status_workflow ON action_status (workflow_id, id);

-- Output of actions. The number is given by whoever runs the attempt, so that a repeated line is recognised.
CREATE TABLE log_line (
    action_id  uuid NOT NULL REFERENCES action ON DELETE CASCADE,
    attempt    integer NOT NULL,
    number     bigint NOT NULL,
    stream     text NOT NULL,
    line       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (action_id, attempt, number),
    CONSTRAINT log_line_stream_known CHECK (stream IN ('STDOUT', 'STDERR'))
);

-- Versions of the document that a workflow's workers share; json keeps the text as it was written.
CREATE TABLE workflow_data (
    workflow_id uuid NOT NULL REFERENCES workflow ON DELETE CASCADE,
    version     integer NOT NULL,
    metadata    json NOT NULL,
    data        json,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workflow_id, version)
);

-- One running workflow for each machine. A workflow takes all its machines in the transaction in which it starts, and
-- lets them go in the one in which it ends, is deleted, or vanishes, whoever does it. lease_id has no foreign key: a
-- lease that is not there is dead. action_id is the action whose run may still be on the machine, NULL when nothing of
-- it is there.
CREATE TABLE machine_hold (
    worker_id   uuid PRIMARY KEY,
    workflow_id uuid NOT NULL REFERENCES workflow ON DELETE CASCADE,
    lease_id    uuid,
    action_id   uuid
);
CREATE INDEX machine_hold_workflow ON machine_hold (workflow_id);

-- The machines on which no other workflow may start: one runs there, or something that a living owner has started for a
-- workflow that is over. Everything else in machine_hold may be taken.
CREATE VIEW busy_machine AS
SELECT h.worker_id, h.workflow_id
  FROM machine_hold h JOIN workflow w ON w.id = h.workflow_id
 WHERE (w.state = 'RUNNING' AND w.deleted_at IS NULL)
    OR EXISTS (SELECT FROM lease l WHERE l.id = h.lease_id AND l.expires_at > clock_timestamp());

-- One report that was decided, and what it was decided on: if any of that has changed, it is left out.
CREATE TYPE action_move AS (
    workflow_id      uuid,
    workflow_version bigint,
    action_id        uuid,
    action_version   bigint,
    held_lease_id    uuid,      -- the hold of its machine
    held_action_id   uuid,
    state            text,      -- RUNNING or SUCCEEDED
    attempt          integer,
    message          text,
    exit_code        bigint,
    seconds          double precision,
    lease_id         uuid,      -- what a start is held under; NULL for no lease
    begins           boolean,   -- its workflow
    completed        integer,   -- actions of its workflow, after a success
    ends             boolean,   -- its workflow
    vacates          boolean    -- its machine, until another action starts
);
