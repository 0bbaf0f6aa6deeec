-- Applications, their units, what relates them, and what each unit has been told.

CREATE DOMAIN charm_kind AS text CONSTRAINT charm_kind_known CHECK (VALUE IN ('NATIVE', 'SCRIPTS'));
CREATE DOMAIN unit_profile AS text CONSTRAINT unit_profile_known CHECK (VALUE IN ('LITERAL', 'JUJU'));
CREATE DOMAIN unit_life AS text CONSTRAINT unit_life_known CHECK (VALUE IN ('ALIVE', 'DYING', 'DEAD'));
CREATE DOMAIN unit_phase AS text CONSTRAINT unit_phase_known
    CHECK (VALUE IN ('WAITING', 'SETUP', 'OPERATION', 'TEARDOWN'));
CREATE DOMAIN unit_event_state AS text CONSTRAINT unit_event_state_known
    CHECK (VALUE IN ('RUNNING', 'COMMITTED', 'ERROR', 'SKIPPED', 'WITHDRAWN', 'ABANDONED'));
CREATE DOMAIN unit_name AS text CONSTRAINT unit_name_form CHECK (VALUE ~ '^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$');
CREATE DOMAIN unit_full_name AS text CONSTRAINT unit_full_name_form CHECK (VALUE ~ '^[a-z0-9-]+/[0-9]+$');

-- Documents keep the text that they were written with.
CREATE DOMAIN unit_document AS json CONSTRAINT unit_document_size CHECK (octet_length(VALUE::text) <= 1048576);
CREATE DOMAIN charm_data AS bytea CONSTRAINT charm_data_size CHECK (octet_length(VALUE) <= 1048576);

-- Application names and the numbers of relations and storage are unique in a namespace.
CREATE TABLE namespace (
    id                    uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version               bigint NOT NULL DEFAULT 1,
    name                  unit_name NOT NULL CONSTRAINT namespace_name UNIQUE,
    update_status_seconds integer NOT NULL DEFAULT 300,
    event_timeout_seconds integer NOT NULL DEFAULT 3600,
    is_retrying           boolean NOT NULL DEFAULT true,
    next_relation         bigint NOT NULL DEFAULT 1,
    next_storage          bigint NOT NULL DEFAULT 0,
    created_at            moment NOT NULL DEFAULT clock_timestamp(),
    updated_at            moment NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT namespace_update_status CHECK (update_status_seconds BETWEEN 10 AND 3600),
    CONSTRAINT namespace_event_timeout CHECK (event_timeout_seconds BETWEEN 1 AND 86400)
);

-- What runs, known by the digest of its package, and never changed. manifest is what the charm says about itself; what it
-- declares is repeated as endpoints and storages. A charm that nothing names goes some time after used_at, when it was
-- last uploaded or asked for.
CREATE TABLE charm (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version    bigint NOT NULL DEFAULT 1,
    digest     text NOT NULL CONSTRAINT charm_digest UNIQUE,
    name       text NOT NULL,
    kind       charm_kind NOT NULL,
    summary    text NOT NULL DEFAULT '',
    manifest   unit_document NOT NULL,
    endpoints  text[] NOT NULL DEFAULT '{}',
    storages   text[] NOT NULL DEFAULT '{}',
    warnings   text[] NOT NULL DEFAULT '{}',
    size       bigint NOT NULL,
    used_at    moment NOT NULL DEFAULT clock_timestamp(),
    created_at moment NOT NULL DEFAULT clock_timestamp(),
    updated_at moment NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT charm_digest_form CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT charm_size CHECK (size BETWEEN 0 AND 268435456)
);
CREATE INDEX charm_used ON charm (used_at);

-- The package of a charm; its chunks are numbered from 0. A charm that its program brings along has none.
CREATE TABLE charm_chunk (
    charm_id uuid NOT NULL REFERENCES charm ON DELETE CASCADE,
    number   integer NOT NULL,
    data     charm_data NOT NULL,
    PRIMARY KEY (charm_id, number)
);
-- It is compressed already.
ALTER TABLE charm_chunk ALTER data SET STORAGE EXTERNAL;

-- config is what users have set, with a version that counts its changes. leader is the number of the unit that leads, NULL
-- for none; term grows with each election, announced_term is the last one whose leader has committed `leader-elected`.
-- leader_until ends the term of a leader that is removed, NULL where its lease alone does. The status is what the leader
-- says of the application, empty where it says nothing.
CREATE TABLE application (
    id             uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version        bigint NOT NULL DEFAULT 1,
    namespace      unit_name NOT NULL CONSTRAINT application_namespace_known REFERENCES namespace (name),
    name           unit_name NOT NULL,
    charm          text NOT NULL CONSTRAINT application_charm_known REFERENCES charm (digest),
    charm_revision integer NOT NULL DEFAULT 1,
    profile        unit_profile NOT NULL DEFAULT 'LITERAL',
    life           unit_life NOT NULL DEFAULT 'ALIVE',
    config         unit_document NOT NULL DEFAULT '{}',
    config_version bigint NOT NULL DEFAULT 1,
    leader         integer,
    term           bigint NOT NULL DEFAULT 0,
    announced_term bigint NOT NULL DEFAULT 0,
    leader_until   moment,
    next_number    integer NOT NULL DEFAULT 0,
    status_name    text NOT NULL DEFAULT '',
    status_message text NOT NULL DEFAULT '',
    removal_actor  text NOT NULL DEFAULT '',
    created_at     moment NOT NULL DEFAULT clock_timestamp(),
    updated_at     moment NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT application_name UNIQUE (namespace, name),
    CONSTRAINT application_status_known
        CHECK (status_name IN ('', 'unknown', 'maintenance', 'waiting', 'blocked', 'active')),
    CONSTRAINT application_status_size CHECK (char_length(status_message) <= 1000),
    CONSTRAINT application_term CHECK (term >= announced_term)
);
CREATE INDEX application_charm ON application (charm);
CREATE INDEX application_dying ON application (id) WHERE life <> 'ALIVE';

-- A unit, and what it has been told, which its own commits alone write: from is_installed to metrics_seen. machine_id is
-- the hardware that it is placed on, NULL for a unit that is not placed, or may run anywhere. lease_id is that of the
-- agent that served it last; it has no foreign key: a lease that is not there is dead. charm is the code that it runs.
-- plan and queue are JSON, as `server/unit/store/ledger.py` writes them. Numbers that are requested grow with each
-- request. removal_reason and removal_actor say why it goes, and by whose doing; at
-- force_at it is DEAD, whatever it owes. The status is what its charm says, and error while an event has failed;
-- what the charm has said meanwhile, or before that, is kept in said_name, empty for nothing, and said_message.
CREATE TABLE unit (
    id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version           bigint NOT NULL DEFAULT 1,
    namespace         text NOT NULL,
    application_id    uuid NOT NULL CONSTRAINT unit_application_known REFERENCES application,
    number            integer NOT NULL,
    name              unit_full_name NOT NULL,
    life              unit_life NOT NULL DEFAULT 'ALIVE',
    phase             unit_phase NOT NULL DEFAULT 'WAITING',
    is_anywhere       boolean NOT NULL DEFAULT false,
    machine_id        uuid,
    lease_id          uuid,
    charm             text CONSTRAINT unit_charm_known REFERENCES charm (digest),
    is_forced         boolean NOT NULL DEFAULT false,
    removal_reason    text NOT NULL DEFAULT '',
    removal_actor     text NOT NULL DEFAULT '',
    force_at          moment,
    is_storage_kept   boolean NOT NULL DEFAULT false,
    status_name       text NOT NULL DEFAULT 'waiting',
    status_message    text NOT NULL DEFAULT '',
    said_name         text NOT NULL DEFAULT '',
    said_message      text NOT NULL DEFAULT '',
    workload_version  text NOT NULL DEFAULT '',
    last_ordinal      bigint NOT NULL DEFAULT 0,
    next_tick_at      moment,
    prepare_requested integer NOT NULL DEFAULT 0,
    finish_requested  integer NOT NULL DEFAULT 0,
    metrics_requested integer NOT NULL DEFAULT 0,
    is_installed      boolean NOT NULL DEFAULT false,
    is_started        boolean NOT NULL DEFAULT false,
    is_stopped        boolean NOT NULL DEFAULT false,
    is_removed        boolean NOT NULL DEFAULT false,
    config_seen       bigint NOT NULL DEFAULT 0,
    charm_seen        text CONSTRAINT unit_charm_seen_known REFERENCES charm (digest),
    led_term          bigint NOT NULL DEFAULT 0,
    settings_term     bigint NOT NULL DEFAULT 0,
    plan              unit_document NOT NULL DEFAULT '[]',
    queue             unit_document NOT NULL DEFAULT '[]',
    prepare_seen      integer NOT NULL DEFAULT 0,
    finish_seen       integer NOT NULL DEFAULT 0,
    metrics_seen      integer NOT NULL DEFAULT 0,
    created_at        moment NOT NULL DEFAULT clock_timestamp(),
    updated_at        moment NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT unit_number UNIQUE (application_id, number),
    CONSTRAINT unit_name UNIQUE (namespace, name),
    CONSTRAINT unit_number_range CHECK (number >= 0),
    CONSTRAINT unit_place CHECK (machine_id IS NULL OR NOT is_anywhere),
    CONSTRAINT unit_status_known
        CHECK (status_name IN ('unknown', 'maintenance', 'waiting', 'blocked', 'active', 'error')),
    CONSTRAINT unit_status_size CHECK (char_length(status_message) <= 1000),
    CONSTRAINT unit_said_known CHECK (said_name IN ('', 'unknown', 'maintenance', 'waiting', 'blocked', 'active')),
    CONSTRAINT unit_said_size CHECK (char_length(said_message) <= 1000)
);
CREATE INDEX unit_machine ON unit (machine_id) WHERE machine_id IS NOT NULL;
CREATE INDEX unit_lease ON unit (lease_id) WHERE lease_id IS NOT NULL;
CREATE INDEX unit_charm ON unit (charm);
CREATE INDEX unit_charm_seen ON unit (charm_seen);
CREATE INDEX unit_waiting ON unit (id) WHERE phase = 'WAITING';
CREATE INDEX unit_dead ON unit (application_id) WHERE life = 'DEAD';
CREATE INDEX unit_force ON unit (force_at) WHERE force_at IS NOT NULL;

-- What a unit was told, or is being told. What its events say of the unit and the relation is repeated here, since these
-- may be gone when it is told. lease_token is that of the agent that runs it. is_lost: its last attempt was lost, so a
-- second one in a row is an error.
CREATE TABLE unit_event (
    id                 uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version            bigint NOT NULL DEFAULT 1,
    namespace          text NOT NULL,
    application_id     uuid NOT NULL,
    unit_id            uuid NOT NULL REFERENCES unit ON DELETE CASCADE,
    unit               text NOT NULL,
    ordinal            bigint NOT NULL,
    kind               text NOT NULL,
    state              unit_event_state NOT NULL DEFAULT 'RUNNING',
    attempt            integer NOT NULL DEFAULT 1,
    phase              unit_phase NOT NULL,
    relation           bigint NOT NULL DEFAULT 0,
    endpoint           text NOT NULL DEFAULT '',
    is_peer            boolean NOT NULL DEFAULT false,
    remote_application text NOT NULL DEFAULT '',
    remote_unit        text NOT NULL DEFAULT '',
    departing_unit     text NOT NULL DEFAULT '',
    storage            text NOT NULL DEFAULT '',
    is_mirrored        boolean NOT NULL DEFAULT false,
    is_echo            boolean NOT NULL DEFAULT false,
    seen_config        bigint NOT NULL DEFAULT 0,
    seen_charm         text NOT NULL DEFAULT '',
    seen_term          bigint NOT NULL DEFAULT 0,
    seen_bag           bigint NOT NULL DEFAULT 0,
    reason             text NOT NULL DEFAULT '',
    leaving            text NOT NULL DEFAULT '',
    actor              text NOT NULL DEFAULT '',
    cause              json NOT NULL DEFAULT '{}',
    message            text NOT NULL DEFAULT '',
    deferred           integer NOT NULL DEFAULT 0,
    consumed           integer NOT NULL DEFAULT 0,
    lease_token        bigint NOT NULL DEFAULT 0,
    is_lost            boolean NOT NULL DEFAULT false,
    deadline_at        moment,
    retry_at           moment,
    started_at         moment,
    finished_at        moment,
    created_at         moment NOT NULL DEFAULT clock_timestamp(),
    updated_at         moment NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT unit_event_ordinal UNIQUE (unit_id, ordinal),
    CONSTRAINT unit_event_number CHECK (ordinal > 0 AND attempt > 0),
    CONSTRAINT unit_event_kind_form CHECK (kind ~ '^[a-z]+(-[a-z]+)*$'),
    CONSTRAINT unit_event_leaving_known CHECK (leaving IN ('', 'SELF', 'REMOTE', 'RELATION')),
    CONSTRAINT unit_event_message_size CHECK (octet_length(message) <= 65536),
    CONSTRAINT unit_event_cause_size CHECK (octet_length(cause::text) <= 65536)
);
-- One event in flight for each unit.
CREATE UNIQUE INDEX unit_event_active ON unit_event (unit_id) WHERE state IN ('RUNNING', 'ERROR');

-- ends are {"application", "endpoint"}, the provider's before the requirer's; a peer relation has one.
CREATE TABLE relation (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version       bigint NOT NULL DEFAULT 1,
    namespace     unit_name NOT NULL CONSTRAINT relation_namespace_known REFERENCES namespace (name),
    number        bigint NOT NULL,
    interface     text NOT NULL,
    is_peer       boolean NOT NULL DEFAULT false,
    life          unit_life NOT NULL DEFAULT 'ALIVE',
    ends          jsonb NOT NULL,
    removal_actor text NOT NULL DEFAULT '',
    created_at    moment NOT NULL DEFAULT clock_timestamp(),
    updated_at    moment NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT relation_number UNIQUE (namespace, number),
    CONSTRAINT relation_number_range CHECK (number > 0),
    CONSTRAINT relation_end_count CHECK (jsonb_array_length(ends) = CASE WHEN is_peer THEN 1 ELSE 2 END)
);
-- One that is dying may have a successor.
CREATE UNIQUE INDEX relation_alive ON relation (namespace, ends) WHERE life = 'ALIVE';
CREATE INDEX relation_dying ON relation (id) WHERE life <> 'ALIVE';

-- A folder of a machine, which is allotted to a unit, or to none while it is detached. is_attached: its unit was told.
-- DYING says that it leaves its unit: one that is_kept stays on its machine then, any other goes.
CREATE TABLE storage (
    id             uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    version        bigint NOT NULL DEFAULT 1,
    namespace      unit_name NOT NULL CONSTRAINT storage_namespace_known REFERENCES namespace (name),
    name           text NOT NULL,
    kind           text NOT NULL,
    number         bigint NOT NULL,
    application_id uuid CONSTRAINT storage_application_known REFERENCES application ON DELETE SET NULL,
    unit_id        uuid CONSTRAINT storage_unit_known REFERENCES unit,
    unit           text NOT NULL DEFAULT '',
    machine_id     uuid,
    life           unit_life NOT NULL DEFAULT 'ALIVE',
    is_attached    boolean NOT NULL DEFAULT false,
    is_kept        boolean NOT NULL DEFAULT false,
    removal_actor  text NOT NULL DEFAULT '',
    created_at     moment NOT NULL DEFAULT clock_timestamp(),
    updated_at     moment NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT storage_name UNIQUE (namespace, name),
    CONSTRAINT storage_owner CHECK ((unit_id IS NULL) = (unit = '') AND (unit_id IS NOT NULL OR NOT is_attached))
);
CREATE INDEX storage_unit ON storage (unit_id) WHERE unit_id IS NOT NULL;
CREATE INDEX storage_application ON storage (application_id);

-- Beside the log: RELATION_CHANGED is written for a bag, and nothing for the tables below it.

-- What an owner says in a relation: a unit by its name, or an application by its.
CREATE TABLE relation_bag (
    relation_id uuid NOT NULL REFERENCES relation ON DELETE CASCADE,
    owner       text NOT NULL,
    data        jsonb NOT NULL DEFAULT '{}',
    version     bigint NOT NULL DEFAULT 0,
    updated_at  moment NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (relation_id, owner),
    CONSTRAINT relation_bag_size CHECK (octet_length(data::text) <= 1048576)
);

CREATE TABLE relation_end (
    relation_id    uuid NOT NULL REFERENCES relation ON DELETE CASCADE,
    application_id uuid NOT NULL CONSTRAINT relation_end_application_known REFERENCES application,
    endpoint       text NOT NULL,
    PRIMARY KEY (relation_id, application_id)
);
CREATE INDEX relation_end_application ON relation_end (application_id, endpoint);

-- Drawn when a unit commits `relation-created`: in this order units have entered.
CREATE SEQUENCE relation_member_entered AS bigint;

-- entered is 0 while a member is ENTERING.
CREATE TABLE relation_member (
    relation_id uuid NOT NULL REFERENCES relation ON DELETE CASCADE,
    unit_id     uuid NOT NULL REFERENCES unit ON DELETE CASCADE,
    membership  text NOT NULL DEFAULT 'ENTERING',
    entered     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (relation_id, unit_id),
    CONSTRAINT relation_member_known CHECK (membership IN ('ENTERING', 'IN', 'LEFT'))
);
CREATE INDEX relation_member_unit ON relation_member (unit_id);

-- What a unit was told of a relation, and of each of its members. A member may not go before the unit has been told that it
-- does, so nothing goes with it. One that is not told yet is referred to by an event that is in flight.
CREATE TABLE unit_relation (
    unit_id             uuid NOT NULL REFERENCES unit ON DELETE CASCADE,
    relation_id         uuid NOT NULL REFERENCES relation ON DELETE CASCADE,
    is_created          boolean NOT NULL DEFAULT false,
    is_broken           boolean NOT NULL DEFAULT false,
    application_version bigint NOT NULL DEFAULT 0,
    own_version         bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (unit_id, relation_id)
);
CREATE INDEX unit_relation_relation ON unit_relation (relation_id);

CREATE TABLE unit_member (
    unit_id      uuid NOT NULL,
    relation_id  uuid NOT NULL,
    member_id    uuid NOT NULL CONSTRAINT unit_member_known REFERENCES unit,
    seen_version bigint NOT NULL DEFAULT 0,
    is_told      boolean NOT NULL DEFAULT false,
    is_older     boolean NOT NULL DEFAULT false,
    PRIMARY KEY (unit_id, relation_id, member_id),
    FOREIGN KEY (unit_id, relation_id) REFERENCES unit_relation ON DELETE CASCADE
);
CREATE INDEX unit_member_member ON unit_member (member_id);

-- What a unit says that it has opened. icmp has the number 0.
CREATE TABLE port (
    unit_id  uuid NOT NULL REFERENCES unit ON DELETE CASCADE,
    protocol text NOT NULL,
    number   integer NOT NULL,
    PRIMARY KEY (unit_id, protocol, number),
    CONSTRAINT port_protocol_known CHECK (protocol IN ('tcp', 'udp', 'icmp')),
    CONSTRAINT port_range CHECK (number BETWEEN 0 AND 65535)
);

CREATE TABLE unit_state (
    unit_id uuid PRIMARY KEY REFERENCES unit ON DELETE CASCADE,
    data    jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT unit_state_size CHECK (octet_length(data::text) <= 1048576)
);

-- An event that a handler has deferred, in the order of the ids. event says all of it but its ordinal; two notices of a unit
-- are equal if their keys are.
CREATE TABLE deferred_notice (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    unit_id    uuid NOT NULL REFERENCES unit ON DELETE CASCADE,
    key        text NOT NULL,
    ordinal    bigint NOT NULL,
    event      unit_document NOT NULL,
    handler    text NOT NULL,
    attempts   integer NOT NULL DEFAULT 1,
    created_at moment NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT deferred_notice_once UNIQUE (unit_id, key)
);

-- What a unit logs, in the order of the ids: who adds lines has locked the unit's row. The number is given by whoever
-- runs the attempt, so that a repeated line is recognised.
CREATE TABLE unit_log (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    unit_id    uuid NOT NULL REFERENCES unit ON DELETE CASCADE,
    ordinal    bigint NOT NULL,
    attempt    integer NOT NULL,
    number     bigint NOT NULL,
    level      text NOT NULL,
    line       text NOT NULL,
    created_at moment NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (unit_id, ordinal, attempt, number),
    CONSTRAINT unit_log_level_known CHECK (level IN ('STDOUT', 'STDERR', 'DEBUG', 'INFO', 'WARNING', 'ERROR')),
    CONSTRAINT unit_log_size CHECK (octet_length(line) <= 131072)
);
CREATE INDEX unit_log_unit ON unit_log (unit_id, id);

-- What an agent serves, beside its lease, as long as that is alive. charms are the digests of those that it runs alone, and
-- namespace and applications those whose units alone it takes; empty for all.
CREATE TABLE unit_agent (
    lease_id     uuid PRIMARY KEY,
    machines     uuid[] NOT NULL DEFAULT '{}',
    is_anywhere  boolean NOT NULL DEFAULT false,
    kinds        text[] NOT NULL,
    charms       text[] NOT NULL DEFAULT '{}',
    namespace    text NOT NULL DEFAULT '',
    applications text[] NOT NULL DEFAULT '{}',
    connected_at moment NOT NULL DEFAULT clock_timestamp()
);
