-- Resources. Each row counts its own versions; deletion is soft, so that references stay readable.
-- One limit holds for every writer, psql included: 1 MiB of JSON or YAML for each resource. A new row's times are those of
-- its statement, so that they are equal. What a column may hold is said by domains, for the reason that the log has: the
-- checks of a table are a tenth of what a change costs.

CREATE DOMAIN jsonb_document AS jsonb CONSTRAINT jsonb_document_object CHECK (jsonb_typeof(VALUE) = 'object');
CREATE DOMAIN lifecycle_state AS text CONSTRAINT lifecycle_state_known
    CHECK (VALUE IN ('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'TIMEOUT', 'CANCELLED'));
CREATE DOMAIN template_text AS text CONSTRAINT template_size CHECK (octet_length(VALUE) <= 1048576);

CREATE TABLE hardware (
    id         uuid PRIMARY KEY,
    version    bigint NOT NULL DEFAULT 1,
    metadata   jsonb_document NOT NULL DEFAULT '{}',
    network    jsonb_document NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    deleted_at timestamptz
);
CREATE INDEX hardware_live ON hardware (created_at, id) WHERE deleted_at IS NULL;

-- The addresses of live machines, kept by a trigger from hardware.network. The types make the comparison independent
-- of spelling: macaddr ignores case and separators, inet knows the forms of IPv6.
CREATE TABLE hardware_address (
    hardware_id uuid NOT NULL REFERENCES hardware ON DELETE CASCADE,
    mac         macaddr,
    ip          inet,
    CONSTRAINT hardware_address_one CHECK (num_nonnulls(mac, ip) = 1),
    CONSTRAINT hardware_address_mac UNIQUE (mac),
    CONSTRAINT hardware_address_ip UNIQUE (ip)
);
CREATE INDEX hardware_address_hardware ON hardware_address (hardware_id);

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

-- A workflow is frozen at creation: data is the rendered template, and the actions below are made from it.
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
    CONSTRAINT workflow_progress CHECK (completed_actions BETWEEN 0 AND total_actions)
);
CREATE INDEX workflow_live ON workflow (created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX workflow_unfinished ON workflow (created_at, id)
    WHERE deleted_at IS NULL AND state IN ('PENDING', 'RUNNING');

CREATE TABLE action (
    id              uuid PRIMARY KEY,
    version         bigint NOT NULL DEFAULT 1,
    workflow_id     uuid NOT NULL REFERENCES workflow ON DELETE CASCADE,
    action_index    integer NOT NULL,
    task_name       text NOT NULL,
    name            text NOT NULL,
    image           text NOT NULL,
    timeout_seconds bigint NOT NULL DEFAULT 0,
    command         text[] NOT NULL DEFAULT '{}',
    on_timeout      text[] NOT NULL DEFAULT '{}',
    on_failure      text[] NOT NULL DEFAULT '{}',
    worker_id       uuid NOT NULL,
    volumes         text[] NOT NULL DEFAULT '{}',
    environment     text[] NOT NULL DEFAULT '{}',
    pid             text NOT NULL DEFAULT '',
    state           lifecycle_state NOT NULL DEFAULT 'PENDING',
    attempt         integer NOT NULL DEFAULT 0,
    message         text NOT NULL DEFAULT '',
    exit_code       bigint,
    created_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    started_at      timestamptz,
    deadline_at     timestamptz,
    finished_at     timestamptz,
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

-- Who may work on what, until when. The token grows with each new owner and fences the former one.
CREATE TABLE lease (
    name       text PRIMARY KEY,
    owner      text NOT NULL,
    token      bigint NOT NULL,
    expires_at timestamptz NOT NULL
);
