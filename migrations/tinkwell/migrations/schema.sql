-- The schema as it is after `tinkwell db upgrade`, for reading. Nothing runs this file: `make schema` writes it.
-- It leaves out owners, privileges, and the partitions of `events`.

CREATE TYPE public.action_move AS (
	workflow_id uuid,
	workflow_version bigint,
	action_id uuid,
	action_version bigint,
	held_lease_id uuid,
	held_action_id uuid,
	state text,
	attempt integer,
	message text,
	exit_code bigint,
	seconds double precision,
	lease_id uuid,
	begins boolean,
	completed integer,
	ends boolean,
	vacates boolean
);

CREATE DOMAIN public.charm_data AS bytea
	CONSTRAINT charm_data_size CHECK ((octet_length(VALUE) <= 1048576));

CREATE DOMAIN public.charm_kind AS text
	CONSTRAINT charm_kind_known CHECK ((VALUE = ANY (ARRAY['NATIVE'::text, 'SCRIPTS'::text, 'OPS'::text])));

CREATE DOMAIN public.chart_archive AS bytea
	CONSTRAINT chart_archive_size CHECK ((octet_length(VALUE) <= 8388608));

CREATE DOMAIN public.chart_metadata AS json
	CONSTRAINT chart_metadata_size CHECK ((octet_length((VALUE)::text) <= 1048576));

CREATE DOMAIN public.event_type AS text
	CONSTRAINT event_type_known CHECK (((VALUE = ANY (ARRAY['CREATED'::text, 'UPDATED'::text, 'DELETED'::text])) OR (VALUE = ANY (ARRAY['ACTION_STARTED'::text, 'ACTION_RETRYING'::text, 'ACTION_SUCCEEDED'::text, 'ACTION_FAILED'::text, 'ACTION_TIMEOUT'::text, 'ACTION_CANCELLED'::text])) OR (VALUE = ANY (ARRAY['WORKFLOW_STARTED'::text, 'WORKFLOW_INPROGRESS'::text, 'WORKFLOW_SUCCEEDED'::text, 'WORKFLOW_FAILED'::text, 'WORKFLOW_TIMEOUT'::text, 'WORKFLOW_CANCELLED'::text])) OR (VALUE = ANY (ARRAY['HARDWARE_PHONE_HOME'::text, 'CUSTOM'::text])) OR (VALUE = ANY (ARRAY['STEP_STARTED'::text, 'STEP_RETRYING'::text, 'STEP_SUCCEEDED'::text, 'STEP_FAILED'::text, 'STEP_TIMEOUT'::text, 'STEP_CANCELLED'::text])) OR (VALUE = ANY (ARRAY['NODE_STARTED'::text, 'NODE_READY'::text, 'NODE_FAILED'::text, 'NODE_SKIPPED'::text, 'NODE_REMOVED'::text, 'NODE_LEFT'::text])) OR (VALUE = ANY (ARRAY['RELEASE_DEPLOYED'::text, 'RELEASE_FAILED'::text, 'RELEASE_UNINSTALLED'::text, 'OPERATION_STARTED'::text, 'OPERATION_SUCCEEDED'::text, 'OPERATION_FAILED'::text, 'OPERATION_TIMEOUT'::text, 'OPERATION_CANCELLED'::text])) OR (VALUE = ANY (ARRAY['RELEASE_DRIFTED'::text, 'LIFECYCLE_EMITTED'::text])) OR (VALUE = ANY (ARRAY['UNIT_EVENT_STARTED'::text, 'UNIT_EVENT_COMMITTED'::text, 'UNIT_EVENT_FAILED'::text, 'UNIT_EVENT_SKIPPED'::text, 'UNIT_EVENT_WITHDRAWN'::text, 'UNIT_EVENT_ABANDONED'::text, 'UNIT_STATUS_CHANGED'::text, 'RELATION_CHANGED'::text])) OR (VALUE = ANY (ARRAY['TASK_STARTED'::text, 'TASK_SUCCEEDED'::text, 'TASK_FAILED'::text, 'TASK_TIMEOUT'::text, 'TASK_CANCELLED'::text]))));

CREATE DOMAIN public.jsonb_document AS jsonb
	CONSTRAINT jsonb_document_object CHECK ((jsonb_typeof(VALUE) = 'object'::text));

CREATE DOMAIN public.lifecycle_state AS text
	CONSTRAINT lifecycle_state_known CHECK ((VALUE = ANY (ARRAY['PENDING'::text, 'RUNNING'::text, 'SUCCEEDED'::text, 'FAILED'::text, 'TIMEOUT'::text, 'CANCELLED'::text])));

CREATE DOMAIN public.moment AS timestamp with time zone
	CONSTRAINT moment_range CHECK (((VALUE >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (VALUE < '10000-01-01 00:00:00+00'::timestamp with time zone)));

CREATE DOMAIN public.node_kind AS text
	CONSTRAINT node_kind_known CHECK ((VALUE = ANY (ARRAY['RESOURCE'::text, 'CHART'::text, 'HOOK'::text, 'EVENT'::text])));

CREATE DOMAIN public.node_state AS text
	CONSTRAINT node_state_known CHECK ((VALUE = ANY (ARRAY['PENDING'::text, 'INSTALLING'::text, 'REMOVING'::text, 'READY'::text, 'FAILED'::text, 'SKIPPED'::text, 'REMOVED'::text, 'LEFT'::text])));

CREATE DOMAIN public.node_task AS text
	CONSTRAINT node_task_known CHECK ((VALUE = ANY (ARRAY['INSTALL'::text, 'REMOVE'::text])));

CREATE DOMAIN public.operation_kind AS text
	CONSTRAINT operation_kind_known CHECK ((VALUE = ANY (ARRAY['INSTALL'::text, 'UPGRADE'::text, 'ROLLBACK'::text, 'UNINSTALL'::text, 'TEST'::text, 'PLAN'::text])));

CREATE DOMAIN public.operation_phase AS text
	CONSTRAINT operation_phase_known CHECK ((VALUE = ANY (ARRAY['LOAD'::text, 'RENDER'::text, 'VALIDATE'::text, 'APPLY'::text, 'CLEANUP'::text])));

CREATE DOMAIN public.release_document AS json
	CONSTRAINT release_document_size CHECK ((octet_length((VALUE)::text) <= 8388608));

CREATE DOMAIN public.release_state AS text
	CONSTRAINT release_state_known CHECK ((VALUE = ANY (ARRAY['PLANNED'::text, 'PENDING_INSTALL'::text, 'PENDING_UPGRADE'::text, 'PENDING_ROLLBACK'::text, 'DEPLOYED'::text, 'FAILED'::text, 'UNINSTALLING'::text, 'UNINSTALLED'::text])));

CREATE DOMAIN public.resource_answer AS json
	CONSTRAINT resource_answer_size CHECK ((octet_length((VALUE)::text) <= 1048576));

CREATE DOMAIN public.resource_config AS json
	CONSTRAINT resource_config_size CHECK ((octet_length((VALUE)::text) <= 3145728));

CREATE DOMAIN public.resource_status AS text
	CONSTRAINT resource_status_known CHECK ((VALUE = ANY (ARRAY['UNKNOWN'::text, 'VALID'::text, 'STALE'::text, 'ABSENT'::text, 'LEFT'::text])));

CREATE DOMAIN public.resource_type AS text
	CONSTRAINT resource_type_known CHECK (((VALUE = ANY (ARRAY['TEMPLATE'::text, 'HARDWARE'::text, 'WORKFLOW'::text, 'ACTION'::text, 'CUSTOM'::text])) OR (VALUE = ANY (ARRAY['CHART'::text, 'RELEASE'::text, 'OPERATION'::text, 'NODE'::text, 'STEP'::text, 'LIFECYCLE'::text])) OR (VALUE = ANY (ARRAY['NAMESPACE'::text, 'CHARM'::text, 'APPLICATION'::text, 'UNIT'::text, 'UNIT_EVENT'::text, 'RELATION'::text, 'STORAGE'::text])) OR (VALUE = ANY (ARRAY['SECRET'::text, 'TASK'::text]))));

CREATE DOMAIN public.revision_state AS text
	CONSTRAINT revision_state_known CHECK ((VALUE = ANY (ARRAY['PENDING'::text, 'DEPLOYED'::text, 'FAILED'::text, 'SUPERSEDED'::text, 'UNINSTALLED'::text])));

CREATE DOMAIN public.step_kind AS text
	CONSTRAINT step_kind_known CHECK ((VALUE = ANY (ARRAY['INIT'::text, 'STATE'::text, 'ACTION'::text, 'RECHECK'::text, 'DESTROY'::text])));

CREATE DOMAIN public.task_state AS text
	CONSTRAINT task_state_known CHECK ((VALUE = ANY (ARRAY['PENDING'::text, 'RUNNING'::text, 'SUCCEEDED'::text, 'FAILED'::text, 'TIMEOUT'::text, 'CANCELLED'::text])));

CREATE DOMAIN public.template_text AS text
	CONSTRAINT template_size CHECK ((octet_length(VALUE) <= 1048576));

CREATE DOMAIN public.unit_document AS json
	CONSTRAINT unit_document_size CHECK ((octet_length((VALUE)::text) <= 1048576));

CREATE DOMAIN public.unit_event_state AS text
	CONSTRAINT unit_event_state_known CHECK ((VALUE = ANY (ARRAY['RUNNING'::text, 'COMMITTED'::text, 'ERROR'::text, 'SKIPPED'::text, 'WITHDRAWN'::text, 'ABANDONED'::text])));

CREATE DOMAIN public.unit_full_name AS text
	CONSTRAINT unit_full_name_form CHECK ((VALUE ~ '^[a-z0-9-]+/[0-9]+$'::text));

CREATE DOMAIN public.unit_life AS text
	CONSTRAINT unit_life_known CHECK ((VALUE = ANY (ARRAY['ALIVE'::text, 'DYING'::text, 'DEAD'::text])));

CREATE DOMAIN public.unit_name AS text
	CONSTRAINT unit_name_form CHECK ((VALUE ~ '^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$'::text));

CREATE DOMAIN public.unit_phase AS text
	CONSTRAINT unit_phase_known CHECK ((VALUE = ANY (ARRAY['WAITING'::text, 'SETUP'::text, 'OPERATION'::text, 'TEARDOWN'::text])));

CREATE DOMAIN public.unit_profile AS text
	CONSTRAINT unit_profile_known CHECK ((VALUE = ANY (ARRAY['LITERAL'::text, 'JUJU'::text])));

CREATE TABLE public.action (
    id uuid NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    workflow_id uuid NOT NULL,
    action_index integer NOT NULL,
    task_name text NOT NULL,
    name text NOT NULL,
    image text NOT NULL,
    timeout_seconds bigint DEFAULT 0 NOT NULL,
    command text[] DEFAULT '{}'::text[] NOT NULL,
    on_timeout text[] DEFAULT '{}'::text[] NOT NULL,
    on_failure text[] DEFAULT '{}'::text[] NOT NULL,
    worker_id uuid NOT NULL,
    volumes text[] DEFAULT '{}'::text[] NOT NULL,
    environment text[] DEFAULT '{}'::text[] NOT NULL,
    pid text DEFAULT ''::text NOT NULL,
    state public.lifecycle_state DEFAULT 'PENDING'::text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    exit_code bigint,
    created_at public.moment DEFAULT statement_timestamp() NOT NULL,
    updated_at public.moment DEFAULT statement_timestamp() NOT NULL,
    started_at public.moment,
    deadline_at public.moment,
    finished_at public.moment,
    retries integer DEFAULT 0 NOT NULL,
    retry_delay_seconds integer DEFAULT 5 NOT NULL,
    retry_at public.moment,
    reboots boolean DEFAULT false NOT NULL
);

CREATE FUNCTION public.action_shape(a public.action) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', a.id, '", "workflow_id": "', a.workflow_id, '", "index": ', a.action_index,
        ', "task_name": ', to_json(a.task_name), ', "name": ', to_json(a.name), ', "image": ', to_json(a.image),
        ', "timeout_seconds": ', a.timeout_seconds, ', "command": ', to_json(a.command),
        ', "on_timeout": ', to_json(a.on_timeout), ', "on_failure": ', to_json(a.on_failure),
        ', "worker_id": "', a.worker_id, '", "volumes": ', to_json(a.volumes),
        ', "environment": ', to_json(a.environment), ', "pid": ', to_json(a.pid), ', "state": "', a.state,
        '", "attempt": ', a.attempt, ', "version": ', a.version, ', "message": ', to_json(a.message),
        ', "exit_code": ' || a.exit_code, time_member('created_at', a.created_at),
        time_member('updated_at', a.updated_at), time_member('started_at', a.started_at),
        time_member('finished_at', a.finished_at), ', "retries": ', a.retries,
        ', "retry_delay_seconds": ', a.retry_delay_seconds, ', "reboots": ', to_json(a.reboots),
        time_member('retry_at', CASE WHEN a.state = 'PENDING' THEN a.retry_at END), '}'
    )::json
$$;

CREATE TABLE public.application (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    namespace public.unit_name NOT NULL,
    name public.unit_name NOT NULL,
    charm text NOT NULL,
    charm_revision integer DEFAULT 1 NOT NULL,
    profile public.unit_profile DEFAULT 'LITERAL'::text NOT NULL,
    life public.unit_life DEFAULT 'ALIVE'::text NOT NULL,
    config public.unit_document DEFAULT '{}'::json NOT NULL,
    config_version bigint DEFAULT 1 NOT NULL,
    leader integer,
    term bigint DEFAULT 0 NOT NULL,
    announced_term bigint DEFAULT 0 NOT NULL,
    leader_until public.moment,
    next_number integer DEFAULT 0 NOT NULL,
    status_name text DEFAULT ''::text NOT NULL,
    status_message text DEFAULT ''::text NOT NULL,
    removal_actor text DEFAULT ''::text NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT application_status_known CHECK ((status_name = ANY (ARRAY[''::text, 'unknown'::text, 'maintenance'::text, 'waiting'::text, 'blocked'::text, 'active'::text]))),
    CONSTRAINT application_status_size CHECK ((char_length(status_message) <= 1000)),
    CONSTRAINT application_term CHECK ((term >= announced_term))
);

CREATE FUNCTION public.application_shape(a public.application) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', a.id, '", "namespace": "', a.namespace, '", "name": "', a.name, '", "life": "', a.life,
        '", "charm": "', a.charm, '", "charm_revision": ', a.charm_revision, ', "charm_name": ' || to_json(c.name),
        ', "kind": "' || c.kind || '"', ', "profile": "', a.profile, '", "config_version": ', a.config_version,
        ', "leader": "', coalesce(a.name || '/' || a.leader, ''), '", "term": ', a.term, ', "announced_term": ',
        a.announced_term, ', "status": {"name": "', a.status_name, '", "message": ', to_json(a.status_message),
        '}, "version": ', a.version, time_member('created_at', a.created_at),
        time_member('updated_at', a.updated_at), '}'
    )::json
      FROM (SELECT a.charm AS digest) own LEFT JOIN charm c USING (digest)
$$;

CREATE FUNCTION public.bell_channel() RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT channel FROM bell_secret
$$;

CREATE FUNCTION public.change_type(operation text, was_deleted timestamp with time zone, is_deleted timestamp with time zone) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE
        WHEN operation = 'INSERT' THEN CASE WHEN is_deleted IS NULL THEN 'CREATED' END
        WHEN operation = 'DELETE' THEN CASE WHEN was_deleted IS NULL THEN 'DELETED' END
        ELSE CASE
            WHEN was_deleted IS NULL AND is_deleted IS NULL THEN 'UPDATED'
            WHEN was_deleted IS NULL THEN 'DELETED'
            WHEN is_deleted IS NULL THEN 'CREATED'
        END
    END
$$;

CREATE TABLE public.charm (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    digest text NOT NULL,
    name text NOT NULL,
    kind public.charm_kind NOT NULL,
    summary text DEFAULT ''::text NOT NULL,
    manifest public.unit_document NOT NULL,
    endpoints text[] DEFAULT '{}'::text[] NOT NULL,
    storages text[] DEFAULT '{}'::text[] NOT NULL,
    warnings text[] DEFAULT '{}'::text[] NOT NULL,
    size bigint NOT NULL,
    used_at public.moment DEFAULT clock_timestamp() NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT charm_digest_form CHECK ((digest ~ '^sha256:[0-9a-f]{64}$'::text)),
    CONSTRAINT charm_size CHECK (((size >= 0) AND (size <= 268435456)))
);

CREATE FUNCTION public.charm_shape(c public.charm) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', c.id, '", "digest": "', c.digest, '", "name": ', to_json(c.name), ', "kind": "', c.kind,
        '", "summary": ', to_json(left(c.summary, 1000)), ', "size": ', c.size, ', "version": ', c.version,
        time_member('created_at', c.created_at), time_member('updated_at', c.updated_at), '}'
    )::json
$$;

CREATE TABLE public.chart (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    digest text NOT NULL,
    name text NOT NULL,
    chart_version text NOT NULL,
    metadata public.chart_metadata NOT NULL,
    warnings text[] DEFAULT '{}'::text[] NOT NULL,
    archive public.chart_archive NOT NULL,
    size integer NOT NULL,
    used_at public.moment DEFAULT clock_timestamp() NOT NULL,
    created_at public.moment DEFAULT statement_timestamp() NOT NULL,
    updated_at public.moment DEFAULT statement_timestamp() NOT NULL,
    CONSTRAINT chart_digest_form CHECK ((digest ~ '^sha256:[0-9a-f]{64}$'::text)),
    CONSTRAINT chart_size CHECK ((size = octet_length((archive)::bytea)))
);
ALTER TABLE ONLY public.chart ALTER COLUMN archive SET STORAGE EXTERNAL;

CREATE FUNCTION public.chart_shape(c public.chart) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', c.id, '", "digest": "', c.digest, '", "name": ', to_json(c.name), ', "chart_version": ',
        to_json(c.chart_version), ', "app_version": ' || to_json(nullif(c.metadata ->> 'appVersion', '')),
        ', "description": ' || to_json(nullif(left(c.metadata ->> 'description', 1000), '')), ', "size": ', c.size,
        ', "version": ', c.version, time_member('created_at', c.created_at), time_member('updated_at', c.updated_at), '}'
    )::json
$$;

CREATE FUNCTION public.check_lifecycle() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.operation_id, OLD.release_id, OLD.ordinal, OLD.event, OLD.chart)
           IS NOT DISTINCT FROM (NEW.operation_id, NEW.release_id, NEW.ordinal, NEW.event, NEW.chart) THEN
            RETURN NEW;
        END IF;
    ELSIF EXISTS (SELECT FROM operation WHERE id = NEW.operation_id AND release_id = NEW.release_id AND state = 'RUNNING') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'lifecycle % cannot be % of operation %', NEW.id, NEW.event, NEW.operation_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'lifecycle_legal', TABLE = 'lifecycle';
END $$;

CREATE FUNCTION public.check_release_transition() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    subject text;
BEGIN
    IF NEW.state = OLD.state OR (CASE TG_TABLE_NAME
        WHEN 'release' THEN CASE
            WHEN OLD.state = 'PLANNED' THEN NEW.state = 'PENDING_INSTALL'
            WHEN OLD.state IN ('PENDING_INSTALL', 'PENDING_UPGRADE', 'PENDING_ROLLBACK')
                THEN NEW.state IN ('DEPLOYED', 'FAILED')
            WHEN OLD.state = 'DEPLOYED' THEN NEW.state IN ('PENDING_UPGRADE', 'PENDING_ROLLBACK', 'UNINSTALLING')
            WHEN OLD.state = 'FAILED'
                THEN NEW.state IN ('PENDING_INSTALL', 'PENDING_UPGRADE', 'PENDING_ROLLBACK', 'UNINSTALLING')
            WHEN OLD.state = 'UNINSTALLING' THEN NEW.state IN ('UNINSTALLED', 'FAILED', 'DEPLOYED')
        END
        WHEN 'release_revision' THEN CASE OLD.state
            WHEN 'PENDING' THEN NEW.state IN ('DEPLOYED', 'FAILED')
            WHEN 'FAILED' THEN NEW.state IN ('PENDING', 'UNINSTALLED')
            WHEN 'DEPLOYED' THEN NEW.state IN ('SUPERSEDED', 'UNINSTALLED')
        END
        WHEN 'operation' THEN CASE OLD.state
            WHEN 'PENDING' THEN NEW.state IN ('RUNNING', 'CANCELLED', 'TIMEOUT')
            WHEN 'RUNNING' THEN NEW.state IN ('SUCCEEDED', 'FAILED', 'TIMEOUT', 'CANCELLED')
        END
        WHEN 'node' THEN CASE OLD.state
            WHEN 'PENDING' THEN NEW.state IN ('INSTALLING', 'REMOVING', 'SKIPPED', 'LEFT', 'FAILED')
            WHEN 'INSTALLING' THEN NEW.state IN ('READY', 'FAILED')
            WHEN 'REMOVING' THEN NEW.state IN ('REMOVED', 'FAILED')
        END
        WHEN 'step' THEN CASE OLD.state
            WHEN 'PENDING' THEN NEW.state IN ('RUNNING', 'CANCELLED')
            WHEN 'RUNNING' THEN NEW.state IN ('PENDING', 'SUCCEEDED', 'FAILED', 'TIMEOUT', 'CANCELLED')
        END
    END) THEN
        RETURN NEW;
    END IF;
    IF TG_TABLE_NAME = 'release_revision' THEN
        subject := format('%s of release %s', OLD.revision, OLD.release_id);
    ELSE
        subject := OLD.id;
    END IF;
    RAISE EXCEPTION '% % may not go from % to %', TG_TABLE_NAME, subject, OLD.state, NEW.state
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_transition', TABLE = TG_TABLE_NAME;
END $$;

CREATE FUNCTION public.check_retry() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.attempt <= NEW.retries THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'action % has no attempt left: % of % are used', NEW.id, NEW.attempt, NEW.retries + 1
        USING ERRCODE = 'check_violation', CONSTRAINT = 'action_transition', TABLE = TG_TABLE_NAME;
END $$;

CREATE FUNCTION public.check_superseded() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF EXISTS (SELECT FROM release_revision WHERE release_id = NEW.release_id AND state = 'DEPLOYED')
       -- Deleted since.
       OR NOT EXISTS (SELECT FROM release_revision WHERE release_id = NEW.release_id AND revision = NEW.revision) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'revision % of release % is superseded by none', NEW.revision, NEW.release_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'release_revision_transition', TABLE = TG_TABLE_NAME;
END $$;

CREATE FUNCTION public.check_task_transition() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state = 'PENDING' THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'task % may not begin as %', NEW.id, NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'task_transition', TABLE = 'task';
    ELSIF NEW.state = OLD.state THEN
        RETURN NEW;
    ELSIF (CASE OLD.state
        WHEN 'PENDING' THEN NEW.state IN ('RUNNING', 'CANCELLED')
        WHEN 'RUNNING' THEN NEW.state <> 'PENDING'
        ELSE false
    END) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'task % may not go from % to %', OLD.id, OLD.state, NEW.state
        USING ERRCODE = 'check_violation', CONSTRAINT = 'task_transition', TABLE = 'task';
END $$;

CREATE FUNCTION public.check_transition() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.state = OLD.state
       OR (OLD.state = 'PENDING' AND NEW.state IN ('RUNNING', 'CANCELLED'))
       OR (OLD.state = 'RUNNING' AND NEW.state IN ('SUCCEEDED', 'FAILED', 'TIMEOUT', 'CANCELLED'))
       OR (OLD.state = 'RUNNING' AND NEW.state = 'PENDING' AND TG_TABLE_NAME = 'action') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% % may not go from % to %', TG_TABLE_NAME, OLD.id, OLD.state, NEW.state
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_transition', TABLE = TG_TABLE_NAME;
END $$;

CREATE FUNCTION public.check_unit_event_transition() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state IN ('RUNNING', 'SKIPPED') THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'event % of unit % may not begin as %', NEW.ordinal, NEW.unit, NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'unit_event_transition', TABLE = 'unit_event';
    ELSIF (CASE OLD.state
        WHEN 'RUNNING' THEN NEW.attempt = OLD.attempt OR NEW.state = 'RUNNING' AND NEW.attempt = OLD.attempt + 1
        WHEN 'ERROR' THEN CASE NEW.state
            WHEN 'RUNNING' THEN NEW.attempt = OLD.attempt + 1
            WHEN 'COMMITTED' THEN false
            ELSE NEW.attempt = OLD.attempt END
        ELSE NEW.state = OLD.state AND NEW.attempt = OLD.attempt
    END) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'event % of unit % may not go from % to %', OLD.ordinal, OLD.unit, OLD.state, NEW.state
        USING ERRCODE = 'check_violation', CONSTRAINT = 'unit_event_transition', TABLE = 'unit_event';
END $$;

CREATE FUNCTION public.check_unit_transition() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    lives  constant text[] := '{ALIVE,DYING,DEAD}';
    phases constant text[] := '{WAITING,SETUP,OPERATION,TEARDOWN}';
BEGIN
    IF array_position(lives, NEW.life::text) < array_position(lives, OLD.life::text) THEN
        RAISE EXCEPTION '% % may not go from % to %', TG_TABLE_NAME, OLD.id, OLD.life, NEW.life
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_transition', TABLE = TG_TABLE_NAME;
    ELSIF TG_TABLE_NAME = 'unit' THEN
        IF array_position(phases, NEW.phase::text) < array_position(phases, OLD.phase::text) THEN
            RAISE EXCEPTION 'unit % may not go from % to %', OLD.name, OLD.phase, NEW.phase
                USING ERRCODE = 'check_violation', CONSTRAINT = 'unit_transition', TABLE = 'unit';
        END IF;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.check_workflow_size() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF octet_length(NEW.devices::text) + octet_length(NEW.data) <= 3145728 THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'workflow % has more than 3 MiB of devices and data together', NEW.id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'workflow_size', TABLE = TG_TABLE_NAME;
END $$;

CREATE FUNCTION public.count_bag_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP OPERATOR(pg_catalog.=) 'INSERT' THEN
        NEW.version := CASE WHEN NEW.data OPERATOR(pg_catalog.=) '{}' THEN 0 ELSE 1 END;
    ELSIF NEW.data OPERATOR(pg_catalog.<>) OLD.data THEN
        NEW.version := OLD.version OPERATOR(pg_catalog.+) 1;
        NEW.updated_at := pg_catalog.clock_timestamp();
    ELSE
        NEW.version := OLD.version;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.count_config_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.config::text OPERATOR(pg_catalog.<>) OLD.config::text THEN
        NEW.config_version := OLD.config_version OPERATOR(pg_catalog.+) 1;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.count_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.version := OLD.version OPERATOR(pg_catalog.+) 1;
    NEW.updated_at := pg_catalog.clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION public.current_actor() RETURNS text
    LANGUAGE sql STABLE
    RETURN COALESCE(NULLIF(current_setting('tinkwell.actor'::text, true), ''::text), (SESSION_USER)::text);

CREATE FUNCTION public.current_history(seen bigint, known uuid) RETURNS TABLE(history_id uuid, oldest_revision bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    UPDATE event_history h
       SET history_id = gen_random_uuid(), identity = log_identity()
     WHERE h.identity <> log_identity()
        OR (h.history_id = known AND seen > (SELECT last_value FROM events_revision));
    RETURN QUERY SELECT h.history_id, h.oldest_revision FROM event_history h;
END $$;

CREATE FUNCTION public.delete_sealed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    owner text;
BEGIN
    IF TG_TABLE_NAME = 'release_revision' THEN
        owner := concat(OLD.release_id, '/', OLD.revision);
    ELSIF TG_TABLE_NAME = 'secret_revision' THEN
        owner := concat(OLD.secret_id, '/', OLD.revision);
    ELSE
        owner := OLD.id;
    END IF;
    DELETE FROM sealed_value WHERE owner_kind = TG_TABLE_NAME AND owner_id = owner;
    RETURN NULL;
END $$;

CREATE FUNCTION public.event_name(resource_type text, event_type text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT lower(resource_type) || '.' || lower(replace(event_type, resource_type || '_', ''))
$$;

CREATE FUNCTION public.first_revision_since(moment timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    low   bigint := (SELECT oldest_revision FROM event_history);
    high  bigint := coalesce((SELECT max(revision) FROM events), 0) + 1;
    probe record;
    half  bigint;
BEGIN
    WHILE low < high LOOP
        half := low + (high - low) / 2;
        SELECT e.revision, e.created_at INTO probe FROM events e
         WHERE e.revision >= half AND e.revision < high ORDER BY e.revision LIMIT 1;
        IF NOT FOUND OR probe.created_at >= moment THEN
            high := half;
        ELSE
            low := probe.revision + 1;
        END IF;
    END LOOP;
    RETURN low;
END $$;

CREATE TABLE public.hardware (
    id uuid NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    metadata public.jsonb_document DEFAULT '{}'::jsonb NOT NULL,
    network public.jsonb_document DEFAULT '{}'::jsonb NOT NULL,
    created_at public.moment DEFAULT statement_timestamp() NOT NULL,
    updated_at public.moment DEFAULT statement_timestamp() NOT NULL,
    deleted_at public.moment
);

CREATE FUNCTION public.hardware_shape(h public.hardware) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', h.id, '", "version": ', h.version, ', "metadata": ', h.metadata, ', "network": ', h.network,
        time_member('created_at', h.created_at), time_member('updated_at', h.updated_at),
        time_member('deleted_at', h.deleted_at), '}'
    )::json
$$;

CREATE FUNCTION public.hold_machines() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    missing uuid[];
    holder  busy_machine;
    free    uuid[];
BEGIN
    IF NEW.state <> 'RUNNING' OR NEW.deleted_at IS NOT NULL THEN
        DELETE FROM machine_hold WHERE workflow_id = NEW.id AND action_id IS NULL;
        RETURN NULL;
    END IF;
    WITH wanted AS MATERIALIZED (
        SELECT DISTINCT worker_id FROM action WHERE workflow_id = NEW.id
        -- What is its own already: it was deleted by mistake, and is taken back.
        EXCEPT SELECT worker_id FROM machine_hold WHERE workflow_id = NEW.id
    ), taken AS (
        INSERT INTO machine_hold (worker_id, workflow_id)
        SELECT worker_id, NEW.id FROM wanted ORDER BY worker_id
            ON CONFLICT DO NOTHING
        RETURNING worker_id
    )
    SELECT array_agg(worker_id) INTO missing FROM wanted WHERE worker_id NOT IN (SELECT worker_id FROM taken);
    IF missing IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT * INTO holder FROM busy_machine WHERE worker_id = ANY (missing) ORDER BY worker_id LIMIT 1;
    IF NOT FOUND THEN
        SELECT array_agg(worker_id) INTO free FROM (
            SELECT worker_id FROM machine_hold WHERE worker_id = ANY (missing) FOR UPDATE SKIP LOCKED
        ) locked;
        -- Once more, since another start may have been faster with one of them.
        SELECT * INTO holder FROM busy_machine WHERE worker_id = ANY (missing) ORDER BY worker_id LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION 'workflow % waits for machine %, on which workflow % runs',
                NEW.id, holder.worker_id, holder.workflow_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'machine_transition', TABLE = TG_TABLE_NAME,
                  DETAIL = format('(worker_id, workflow_id)=(%s, %s)', holder.worker_id, holder.workflow_id);
    END IF;
    IF cardinality(free) IS DISTINCT FROM cardinality(missing) THEN
        -- One is let go in this moment. To take it now could be out of order, so all is done again.
        RAISE EXCEPTION 'the machines of workflow % are let go in this moment; try again', NEW.id
            USING ERRCODE = 'serialization_failure';
    END IF;
    UPDATE machine_hold SET workflow_id = NEW.id, lease_id = NULL, action_id = NULL WHERE worker_id = ANY (free);
    RETURN NULL;
END $$;

CREATE FUNCTION public.is_bell_broken() RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_sequence_last_value('bell_wanted');
    RETURN false;
EXCEPTION WHEN internal_error OR data_corrupted THEN
    RETURN true;
END $$;

CREATE FUNCTION public.is_bell_wanted() RETURNS boolean
    LANGUAGE sql
    AS $$
    SELECT pg_sequence_last_value('bell_wanted') > 0
$$;

CREATE FUNCTION public.is_writing() RETURNS boolean
    LANGUAGE sql
    AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks
         WHERE locktype = 'relation'
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND relation = 'events'::regclass
           AND mode = 'RowExclusiveLock'
           AND granted
    )
$$;

CREATE FUNCTION public.keep_addresses() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- Most changes are to other columns.
        IF NEW.network = OLD.network AND (NEW.deleted_at IS NULL) = (OLD.deleted_at IS NULL) THEN
            RETURN NULL;
        END IF;
        DELETE FROM hardware_address WHERE hardware_id = NEW.id;
    END IF;
    IF NEW.deleted_at IS NULL AND NEW.network <> '{}' THEN
        INSERT INTO hardware_address (hardware_id, mac, ip)
        SELECT NEW.id, address.mac, address.ip
          FROM jsonb_array_elements(NEW.network -> 'interfaces') i
         CROSS JOIN LATERAL (VALUES (
                nullif(i #>> '{dhcp,mac}', '')::macaddr,
                host(nullif(i #>> '{dhcp,ip,address}', '')::inet)::inet
               )) AS dhcp (mac, ip)
         CROSS JOIN LATERAL (VALUES (dhcp.mac, NULL), (NULL, dhcp.ip)) AS address (mac, ip)
         WHERE num_nonnulls(address.mac, address.ip) > 0;
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE public.lifecycle (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    operation_id uuid NOT NULL,
    release_id uuid NOT NULL,
    ordinal integer NOT NULL,
    event text NOT NULL,
    chart text DEFAULT ''::text NOT NULL,
    handlers json DEFAULT '[]'::json NOT NULL,
    outcome text NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    seconds double precision DEFAULT 0 NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT lifecycle_outcome_known CHECK ((outcome = ANY (ARRAY['SUCCEEDED'::text, 'WARNED'::text, 'FAILED'::text]))),
    CONSTRAINT lifecycle_size CHECK ((octet_length((handlers)::text) <= 1048576))
);

CREATE FUNCTION public.lifecycle_shape(r public.lifecycle) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', r.id, '", "operation_id": "', r.operation_id, '", "release_id": "', r.release_id, '", "ordinal": ',
        r.ordinal, ', "event": ', to_json(r.event), ', "chart": ', to_json(r.chart), ', "handlers": ', r.handlers,
        ', "outcome": "', r.outcome, '", "message": ', to_json(r.message), ', "seconds": ', to_json(r.seconds),
        ', "version": ', r.version, time_member('created_at', r.created_at), time_member('updated_at', r.updated_at), '}'
    )::json
$$;

CREATE FUNCTION public.log_identity() RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT concat_ws('/', s.system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), d.oid,
                     'events'::regclass::oid)
      FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()
$$;

CREATE FUNCTION public.mend_bell() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF NOT is_bell_broken() THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY bell IN SHARE ROW EXCLUSIVE MODE;
    IF NOT is_bell_broken() THEN
        RETURN false;
    END IF;
    DROP SEQUENCE public.bell_wanted;
    CREATE UNLOGGED SEQUENCE public.bell_wanted MINVALUE 0 MAXVALUE 1 START 0;
    RETURN true;
END $$;

CREATE TABLE public.namespace (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    name public.unit_name NOT NULL,
    update_status_seconds integer DEFAULT 300 NOT NULL,
    event_timeout_seconds integer DEFAULT 3600 NOT NULL,
    is_retrying boolean DEFAULT true NOT NULL,
    next_relation bigint DEFAULT 1 NOT NULL,
    next_storage bigint DEFAULT 0 NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT namespace_event_timeout CHECK (((event_timeout_seconds >= 1) AND (event_timeout_seconds <= 86400))),
    CONSTRAINT namespace_update_status CHECK (((update_status_seconds >= 10) AND (update_status_seconds <= 3600)))
);

CREATE FUNCTION public.namespace_shape(n public.namespace) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', n.id, '", "name": "', n.name, '", "version": ', n.version, ', "update_status_seconds": ',
        n.update_status_seconds, ', "event_timeout_seconds": ', n.event_timeout_seconds, ', "retrying": ',
        to_json(n.is_retrying), time_member('created_at', n.created_at), time_member('updated_at', n.updated_at), '}'
    )::json
$$;

CREATE FUNCTION public.new_event_id(at timestamp with time zone) RETURNS uuid
    LANGUAGE sql
    RETURN (lpad(to_hex(((date_part('epoch'::text, at) * (1000000)::double precision))::bigint), 32, to_hex(((((random() * ('70368744177663'::bigint)::double precision))::bigint << 16) | ('1000000000000000000000000000000000000000000000001000000000000000'::"bit")::bigint))))::uuid;

CREATE TABLE public.node (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    operation_id uuid NOT NULL,
    release_id uuid NOT NULL,
    path text NOT NULL,
    kind public.node_kind DEFAULT 'RESOURCE'::text NOT NULL,
    task public.node_task NOT NULL,
    ordinal integer NOT NULL,
    batch integer NOT NULL,
    state public.node_state DEFAULT 'PENDING'::text NOT NULL,
    changed boolean DEFAULT false NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    created_at public.moment DEFAULT statement_timestamp() NOT NULL,
    updated_at public.moment DEFAULT statement_timestamp() NOT NULL,
    started_at public.moment,
    finished_at public.moment
);

CREATE FUNCTION public.node_shape(n public.node) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', n.id, '", "operation_id": "', n.operation_id, '", "release_id": "', n.release_id, '", "path": ',
        to_json(n.path), ', "kind": "', n.kind, '", "task": "', n.task, '", "ordinal": ', n.ordinal, ', "batch": ',
        n.batch, ', "state": "', n.state, '", "changed": ', to_json(n.changed), ', "message": ', to_json(n.message),
        ', "version": ', n.version, time_member('created_at', n.created_at), time_member('updated_at', n.updated_at),
        time_member('started_at', n.started_at), time_member('finished_at', n.finished_at), '}'
    )::json
$$;

CREATE TABLE public.operation (
    id uuid NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    release_id uuid NOT NULL,
    revision integer DEFAULT 0 NOT NULL,
    kind public.operation_kind NOT NULL,
    state public.lifecycle_state DEFAULT 'PENDING'::text NOT NULL,
    phase public.operation_phase DEFAULT 'LOAD'::text NOT NULL,
    request jsonb NOT NULL,
    options jsonb NOT NULL,
    source public.release_document,
    plan public.release_document,
    former_state public.release_state NOT NULL,
    rollback_of integer DEFAULT 0 NOT NULL,
    follows uuid,
    cause jsonb,
    actor text DEFAULT COALESCE(NULLIF(current_setting('tinkwell.actor'::text, true), ''::text), (SESSION_USER)::text) NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    total_nodes integer DEFAULT 0 NOT NULL,
    changed_nodes integer DEFAULT 0 NOT NULL,
    failed_nodes integer DEFAULT 0 NOT NULL,
    skipped_nodes integer DEFAULT 0 NOT NULL,
    lease_id uuid,
    cancel_requested_at public.moment,
    cancel_grace_seconds integer DEFAULT 0 NOT NULL,
    cancel_reason text DEFAULT ''::text NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    started_at public.moment,
    deadline_at public.moment NOT NULL,
    finished_at public.moment,
    chart_id uuid,
    result public.release_document,
    plan_of uuid
);

CREATE FUNCTION public.operation_shape(o public.operation) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', o.id, '", "release_id": "', o.release_id, '", "namespace": "', r.namespace,
        '", "release_name": "', r.name, '", "revision": ', o.revision, ', "kind": "', o.kind, '", "state": "', o.state,
        '", "phase": "', o.phase, '", "version": ', o.version, ', "cause": ' || o.cause::text, ', "actor": ',
        to_json(o.actor), ', "reason": ' || to_json(nullif(o.reason, '')), ', "follows": "' || o.follows || '"',
        ', "plan_of": "' || o.plan_of || '"',
        ', "total_nodes": ', o.total_nodes, ', "changed_nodes": ', o.changed_nodes, ', "failed_nodes": ',
        o.failed_nodes, ', "skipped_nodes": ', o.skipped_nodes, ', "cancel_requested": ',
        to_json(o.cancel_requested_at IS NOT NULL), ', "cancel_grace_seconds": ', o.cancel_grace_seconds,
        ', "cancel_reason": ' || to_json(nullif(o.cancel_reason, '')), time_member('created_at', o.created_at),
        time_member('updated_at', o.updated_at), time_member('started_at', o.started_at),
        time_member('finished_at', o.finished_at), '}'
    )::json
      FROM (SELECT) one LEFT JOIN release r ON r.id = o.release_id
$$;

CREATE FUNCTION public.phone_home(machine uuid, call jsonb, actor text) RETURNS TABLE(revision bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    PERFORM set_config('tinkwell.actor', actor, true);
    RETURN QUERY
    SELECT e.revision
      FROM hardware h
     CROSS JOIN write_event('HARDWARE', h.id, NULL, 'HARDWARE_PHONE_HOME', h.version,
                            (hardware_shape(h)::jsonb || jsonb_build_object('phone_home', call))::json) e
     WHERE h.id = machine AND h.deleted_at IS NULL;
END $$;

CREATE FUNCTION public.publish_event(name text, resource_id uuid, data json, actor text) RETURNS TABLE(id uuid, revision bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    PERFORM set_config('tinkwell.actor', actor, true);
    RETURN QUERY
    SELECT e.id, e.revision FROM write_event('CUSTOM', resource_id, NULL, 'CUSTOM', 0, data, name) e;
END $$;

CREATE FUNCTION public.refuse_identity() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'what a row of % is known by may not change, since who watches it would hear nothing: '
                    'insert another row, and delete this one', TG_TABLE_NAME
        USING ERRCODE = 'check_violation', CONSTRAINT = pg_catalog.concat(TG_TABLE_NAME, '_identity'),
              TABLE = TG_TABLE_NAME;
END $$;

CREATE FUNCTION public.refuse_rewriting() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '% of % would change what has been delivered; events are forgotten by whole partitions',
            TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'feature_not_supported';
END $$;

CREATE FUNCTION public.refuse_truncate() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'TRUNCATE of % would lose events', TG_TABLE_NAME USING ERRCODE = 'feature_not_supported';
END $$;

CREATE TABLE public.relation (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    namespace public.unit_name NOT NULL,
    number bigint NOT NULL,
    interface text NOT NULL,
    is_peer boolean DEFAULT false NOT NULL,
    life public.unit_life DEFAULT 'ALIVE'::text NOT NULL,
    ends jsonb NOT NULL,
    removal_actor text DEFAULT ''::text NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT relation_end_count CHECK ((jsonb_array_length(ends) =
CASE
    WHEN is_peer THEN 1
    ELSE 2
END)),
    CONSTRAINT relation_number_range CHECK ((number > 0))
);

CREATE FUNCTION public.relation_shape(r public.relation) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', r.id, '", "number": ', r.number, ', "namespace": "', r.namespace, '", "interface": ',
        to_json(r.interface), ', "peer": ', to_json(r.is_peer), ', "life": "', r.life, '", "ends": ', r.ends,
        ', "version": ', r.version, time_member('created_at', r.created_at), time_member('updated_at', r.updated_at),
        '}'
    )::json
$$;

CREATE TABLE public.release (
    id uuid NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    state public.release_state DEFAULT 'PENDING_INSTALL'::text NOT NULL,
    revision integer DEFAULT 0 NOT NULL,
    latest_revision integer DEFAULT 0 NOT NULL,
    operation_id uuid NOT NULL,
    engine text DEFAULT ''::text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    created_at public.moment DEFAULT statement_timestamp() NOT NULL,
    updated_at public.moment DEFAULT statement_timestamp() NOT NULL,
    deleted_at public.moment,
    chart_name text DEFAULT ''::text NOT NULL,
    chart_version text DEFAULT ''::text NOT NULL,
    drift text DEFAULT ''::text NOT NULL,
    CONSTRAINT release_deletion CHECK (((deleted_at IS NULL) OR ((state)::text = 'UNINSTALLED'::text))),
    CONSTRAINT release_name_form CHECK ((name ~ '^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$'::text)),
    CONSTRAINT release_namespace_form CHECK ((namespace ~ '^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$'::text))
);

CREATE FUNCTION public.release_shape(r public.release) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', r.id, '", "namespace": "', r.namespace, '", "name": "', r.name, '", "state": "', r.state,
        '", "version": ', r.version, ', "revision": ', r.revision, ', "latest_revision": ', r.latest_revision,
        ', "operation_id": "', r.operation_id, '"', ', "engine": ' || to_json(nullif(r.engine, '')),
        ', "description": ' || to_json(nullif(r.description, '')),
        ', "chart_name": ' || to_json(nullif(r.chart_name, '')),
        ', "chart_version": ' || to_json(nullif(r.chart_version, '')),
        ', "drifted": ', to_json(r.drift <> ''), time_member('created_at', r.created_at),
        time_member('updated_at', r.updated_at), time_member('deleted_at', r.deleted_at), '}'
    )::json
$$;

CREATE FUNCTION public.renew_history(known uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    UPDATE event_history SET history_id = gen_random_uuid() WHERE history_id = known
$$;

CREATE FUNCTION public.request_bell() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF is_writing() OR pg_notification_queue_usage() > 0.25 THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY bell IN SHARE MODE NOWAIT;
    PERFORM setval('bell_wanted', 1);
    IF is_writing() THEN
        PERFORM silence_bell();
        RETURN false;
    END IF;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

CREATE TABLE public.events (
    revision bigint NOT NULL,
    id uuid DEFAULT public.new_event_id(clock_timestamp()) NOT NULL,
    resource_type text NOT NULL,
    resource_id uuid,
    parent_id uuid,
    event_type text NOT NULL,
    name text NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    actor text DEFAULT public.current_actor() NOT NULL,
    data json NOT NULL,
    size integer NOT NULL
)
PARTITION BY RANGE (revision);

CREATE FUNCTION public.ring_bell(event public.events) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- The actor, which may be any text, comes last; in none of the others is there such a character.
    payload text := concat_ws(
        E'\x1f', event.revision, event.id, event.resource_type, coalesce(event.resource_id::text, ''),
        coalesce(event.parent_id::text, ''), event.event_type, event.name, event.version,
        (date_part('epoch', event.created_at) * 1000000)::bigint, event.data, event.actor);
    -- PostgreSQL keeps so much of a block to itself.
    limit_bytes integer := current_setting('block_size')::integer - 192;
BEGIN
    IF octet_length(payload) >= limit_bytes THEN
        payload := '';
    END IF;
    PERFORM pg_notify((SELECT channel FROM bell_secret), payload);
END $$;

CREATE TABLE public.secret (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    namespace public.unit_name NOT NULL,
    name text NOT NULL,
    application_id uuid,
    unit_id uuid,
    owner text DEFAULT ''::text NOT NULL,
    label text DEFAULT ''::text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    rotation text DEFAULT 'NEVER'::text NOT NULL,
    rotates_at public.moment,
    latest bigint DEFAULT 1 NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT secret_description_size CHECK ((char_length(description) <= 1000)),
    CONSTRAINT secret_label_size CHECK ((char_length(label) <= 100)),
    CONSTRAINT secret_latest CHECK ((latest > 0)),
    CONSTRAINT secret_name_form CHECK ((name ~ '^[0-9a-v]{20}$'::text)),
    CONSTRAINT secret_owner CHECK ((((application_id IS NULL) = (owner = ''::text)) AND ((unit_id IS NULL) OR (owner ~~ '%/%'::text)))),
    CONSTRAINT secret_rotation_known CHECK ((rotation = ANY (ARRAY['NEVER'::text, 'HOURLY'::text, 'DAILY'::text, 'WEEKLY'::text, 'MONTHLY'::text, 'QUARTERLY'::text, 'YEARLY'::text])))
);

CREATE FUNCTION public.secret_shape(s public.secret) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', s.id, '", "application_id": "', s.application_id, '", "namespace": "', s.namespace, '", "name": "',
        s.name, '", "owner": ', to_json(s.owner), ', "label": ', to_json(s.label), ', "description": ',
        to_json(s.description), ', "rotation": "', s.rotation, '", "latest": ', s.latest, ', "grants": ',
        coalesce((SELECT json_agg(json_build_object('relation', coalesce(r.number, 0), 'application', a.name,
                                                    'unit', coalesce(u.name, '')) ORDER BY g.id)
                    FROM secret_grant g JOIN application a ON a.id = g.application_id
                    LEFT JOIN relation r ON r.id = g.relation_id LEFT JOIN unit u ON u.id = g.unit_id
                   WHERE g.secret_id = s.id), '[]'), ', "version": ', s.version,
        time_member('created_at', s.created_at), time_member('updated_at', s.updated_at),
        time_member('rotates_at', s.rotates_at), '}'
    )::json
$$;

CREATE FUNCTION public.silence_bell() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    LOCK TABLE ONLY bell IN ROW EXCLUSIVE MODE NOWAIT;
    PERFORM setval('bell_wanted', 0);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

CREATE TABLE public.step (
    id uuid NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    node_id uuid NOT NULL,
    operation_id uuid NOT NULL,
    release_id uuid NOT NULL,
    path text NOT NULL,
    ordinal integer NOT NULL,
    kind public.step_kind NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    image text DEFAULT ''::text NOT NULL,
    entrypoint text DEFAULT ''::text NOT NULL,
    args text[],
    state public.lifecycle_state DEFAULT 'PENDING'::text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    exit_code bigint,
    message text DEFAULT ''::text NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    started_at public.moment,
    finished_at public.moment
);

CREATE FUNCTION public.step_shape(s public.step) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', s.id, '", "node_id": "', s.node_id, '", "operation_id": "', s.operation_id, '", "release_id": "',
        s.release_id, '", "path": ', to_json(s.path), ', "ordinal": ', s.ordinal, ', "kind": "', s.kind, '", "name": ',
        to_json(s.name), ', "description": ' || to_json(nullif(s.description, '')),
        ', "image": ' || to_json(nullif(s.image, '')), ', "entrypoint": ' || to_json(nullif(s.entrypoint, '')),
        ', "state": "', s.state, '", "attempt": ', s.attempt, ', "exit_code": ' || s.exit_code, ', "message": ',
        to_json(s.message), ', "version": ', s.version, time_member('created_at', s.created_at),
        time_member('updated_at', s.updated_at), time_member('started_at', s.started_at),
        time_member('finished_at', s.finished_at), '}'
    )::json
$$;

CREATE TABLE public.storage (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    namespace public.unit_name NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    number bigint NOT NULL,
    application_id uuid,
    unit_id uuid,
    unit text DEFAULT ''::text NOT NULL,
    machine_id uuid,
    life public.unit_life DEFAULT 'ALIVE'::text NOT NULL,
    is_attached boolean DEFAULT false NOT NULL,
    is_kept boolean DEFAULT false NOT NULL,
    removal_actor text DEFAULT ''::text NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT storage_owner CHECK ((((unit_id IS NULL) = (unit = ''::text)) AND ((unit_id IS NOT NULL) OR (NOT is_attached))))
);

CREATE FUNCTION public.storage_shape(s public.storage) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', s.id, '", "namespace": "', s.namespace, '", "name": ', to_json(s.name), ', "kind": ',
        to_json(s.kind), ', "unit": ', to_json(s.unit), ', "machine": "', s.machine_id, '", "life": "', s.life,
        '", "attached": ', to_json(s.is_attached), ', "version": ', s.version,
        time_member('created_at', s.created_at), time_member('updated_at', s.updated_at), '}'
    )::json
$$;

CREATE TABLE public.task (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    number bigint NOT NULL,
    namespace text NOT NULL,
    application_id uuid NOT NULL,
    unit_id uuid NOT NULL,
    unit text NOT NULL,
    kind text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    parameters public.unit_document DEFAULT '{}'::json NOT NULL,
    arguments text[] DEFAULT '{}'::text[] NOT NULL,
    state public.task_state DEFAULT 'PENDING'::text NOT NULL,
    result public.unit_document DEFAULT '{}'::json NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    timeout_seconds integer NOT NULL,
    actor text DEFAULT ''::text NOT NULL,
    charm text DEFAULT ''::text NOT NULL,
    lease_token bigint DEFAULT 0 NOT NULL,
    is_cancelled boolean DEFAULT false NOT NULL,
    deadline_at public.moment,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    started_at public.moment,
    finished_at public.moment,
    CONSTRAINT task_arguments_size CHECK ((octet_length((arguments)::text) <= 1048576)),
    CONSTRAINT task_kind_known CHECK ((kind = ANY (ARRAY['ACTION'::text, 'EXEC'::text]))),
    CONSTRAINT task_message_size CHECK ((char_length(message) <= 1000)),
    CONSTRAINT task_timeout CHECK (((timeout_seconds >= 1) AND (timeout_seconds <= 86400)))
);

CREATE FUNCTION public.task_shape(t public.task) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', t.id, '", "application_id": "', t.application_id, '", "unit_id": "', t.unit_id,
        '", "namespace": "', t.namespace, '", "unit": ', to_json(t.unit), ', "kind": "', t.kind, '", "name": ',
        to_json(t.name), ', "state": "', t.state, '", "message": ', to_json(t.message), ', "timeout_seconds": ',
        t.timeout_seconds, ', "actor": ', to_json(t.actor), ', "cancelled": ', to_json(t.is_cancelled),
        ', "version": ', t.version, time_member('created_at', t.created_at), time_member('updated_at', t.updated_at),
        time_member('started_at', t.started_at), time_member('finished_at', t.finished_at), '}'
    )::json
$$;

CREATE TABLE public.template (
    id uuid NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    name text NOT NULL,
    data public.template_text NOT NULL,
    created_at public.moment DEFAULT statement_timestamp() NOT NULL,
    updated_at public.moment DEFAULT statement_timestamp() NOT NULL,
    deleted_at public.moment,
    CONSTRAINT template_name_form CHECK ((name ~ '^[a-zA-Z0-9_-]{1,199}$'::text))
);

CREATE FUNCTION public.template_shape(t public.template) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', t.id, '", "name": ', to_json(t.name), ', "version": ', t.version, ', "data": ', to_json(t.data),
        time_member('created_at', t.created_at), time_member('updated_at', t.updated_at),
        time_member('deleted_at', t.deleted_at), '}'
    )::json
$$;

CREATE FUNCTION public.time_member(key text, moment timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT to_char(moment AT TIME ZONE INTERVAL '0', E'", \\"' || key || E'\\": \\""YYYY-MM-DD"T"HH24:MI:SS.US"Z\\""')
$$;

CREATE TABLE public.unit_event (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    namespace text NOT NULL,
    application_id uuid NOT NULL,
    unit_id uuid NOT NULL,
    unit text NOT NULL,
    ordinal bigint NOT NULL,
    kind text NOT NULL,
    state public.unit_event_state DEFAULT 'RUNNING'::text NOT NULL,
    attempt integer DEFAULT 1 NOT NULL,
    phase public.unit_phase NOT NULL,
    relation bigint DEFAULT 0 NOT NULL,
    endpoint text DEFAULT ''::text NOT NULL,
    is_peer boolean DEFAULT false NOT NULL,
    remote_application text DEFAULT ''::text NOT NULL,
    remote_unit text DEFAULT ''::text NOT NULL,
    departing_unit text DEFAULT ''::text NOT NULL,
    storage text DEFAULT ''::text NOT NULL,
    is_mirrored boolean DEFAULT false NOT NULL,
    is_echo boolean DEFAULT false NOT NULL,
    seen_config bigint DEFAULT 0 NOT NULL,
    seen_charm text DEFAULT ''::text NOT NULL,
    seen_term bigint DEFAULT 0 NOT NULL,
    seen_bag bigint DEFAULT 0 NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    leaving text DEFAULT ''::text NOT NULL,
    actor text DEFAULT ''::text NOT NULL,
    cause json DEFAULT '{}'::json NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    deferred integer DEFAULT 0 NOT NULL,
    consumed integer DEFAULT 0 NOT NULL,
    lease_token bigint DEFAULT 0 NOT NULL,
    is_lost boolean DEFAULT false NOT NULL,
    deadline_at public.moment,
    retry_at public.moment,
    started_at public.moment,
    finished_at public.moment,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    secret text DEFAULT ''::text NOT NULL,
    secret_revision bigint DEFAULT 0 NOT NULL,
    CONSTRAINT unit_event_cause_size CHECK ((octet_length((cause)::text) <= 65536)),
    CONSTRAINT unit_event_kind_form CHECK ((kind ~ '^[a-z]+(-[a-z]+)*$'::text)),
    CONSTRAINT unit_event_leaving_known CHECK ((leaving = ANY (ARRAY[''::text, 'SELF'::text, 'REMOTE'::text, 'RELATION'::text]))),
    CONSTRAINT unit_event_message_size CHECK ((octet_length(message) <= 65536)),
    CONSTRAINT unit_event_number CHECK (((ordinal > 0) AND (attempt > 0)))
);

CREATE FUNCTION public.unit_event_shape(e public.unit_event) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', e.id, '", "application_id": "', e.application_id, '", "unit_id": "', e.unit_id,
        '", "namespace": "', e.namespace, '", "unit": ', to_json(e.unit), ', "kind": "', e.kind, '", "ordinal": ',
        e.ordinal, ', "attempt": ', e.attempt, ', "state": "', e.state, '", "phase": "', e.phase, '", "relation": ',
        CASE WHEN e.relation = 0 THEN 'null' ELSE concat(
            '{"number": ', e.relation, ', "endpoint": ', to_json(e.endpoint), ', "peer": ', to_json(e.is_peer),
            ', "application": ', to_json(e.remote_application), ', "unit": ', to_json(e.remote_unit),
            ', "departing_unit": ', to_json(e.departing_unit), '}') END,
        ', "storage": ', to_json(e.storage), ', "secret": ',
        CASE WHEN e.secret = '' THEN 'null'
             ELSE concat('{"id": ', to_json(e.secret), ', "revision": ', e.secret_revision, '}') END, ', "mirrored": ', to_json(e.is_mirrored), ', "echo": ',
        to_json(e.is_echo), ', "seen": {"config": ', e.seen_config, ', "charm": ', to_json(e.seen_charm),
        ', "term": ', e.seen_term, ', "bag": ', e.seen_bag, '}, "reason": "', e.reason, '", "leaving": "', e.leaving,
        '", "actor": ', to_json(e.actor), ', "cause": ', e.cause, ', "message": ', to_json(e.message),
        ', "deferred": ', e.deferred, ', "consumed": ', e.consumed, ', "version": ', e.version,
        time_member('created_at', e.created_at), time_member('updated_at', e.updated_at),
        time_member('started_at', e.started_at), time_member('finished_at', e.finished_at),
        time_member('retry_at', e.retry_at), '}'
    )::json
$$;

CREATE TABLE public.unit (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    namespace text NOT NULL,
    application_id uuid NOT NULL,
    number integer NOT NULL,
    name public.unit_full_name NOT NULL,
    life public.unit_life DEFAULT 'ALIVE'::text NOT NULL,
    phase public.unit_phase DEFAULT 'WAITING'::text NOT NULL,
    is_anywhere boolean DEFAULT false NOT NULL,
    machine_id uuid,
    lease_id uuid,
    charm text,
    is_forced boolean DEFAULT false NOT NULL,
    removal_reason text DEFAULT ''::text NOT NULL,
    removal_actor text DEFAULT ''::text NOT NULL,
    force_at public.moment,
    is_storage_kept boolean DEFAULT false NOT NULL,
    status_name text DEFAULT 'waiting'::text NOT NULL,
    status_message text DEFAULT ''::text NOT NULL,
    said_name text DEFAULT ''::text NOT NULL,
    said_message text DEFAULT ''::text NOT NULL,
    workload_version text DEFAULT ''::text NOT NULL,
    last_ordinal bigint DEFAULT 0 NOT NULL,
    next_tick_at public.moment,
    prepare_requested integer DEFAULT 0 NOT NULL,
    finish_requested integer DEFAULT 0 NOT NULL,
    metrics_requested integer DEFAULT 0 NOT NULL,
    is_installed boolean DEFAULT false NOT NULL,
    is_started boolean DEFAULT false NOT NULL,
    is_stopped boolean DEFAULT false NOT NULL,
    is_removed boolean DEFAULT false NOT NULL,
    config_seen bigint DEFAULT 0 NOT NULL,
    charm_seen text,
    led_term bigint DEFAULT 0 NOT NULL,
    settings_term bigint DEFAULT 0 NOT NULL,
    plan public.unit_document DEFAULT '[]'::json NOT NULL,
    queue public.unit_document DEFAULT '[]'::json NOT NULL,
    prepare_seen integer DEFAULT 0 NOT NULL,
    finish_seen integer DEFAULT 0 NOT NULL,
    metrics_seen integer DEFAULT 0 NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT unit_number_range CHECK ((number >= 0)),
    CONSTRAINT unit_place CHECK (((machine_id IS NULL) OR (NOT is_anywhere))),
    CONSTRAINT unit_said_known CHECK ((said_name = ANY (ARRAY[''::text, 'unknown'::text, 'maintenance'::text, 'waiting'::text, 'blocked'::text, 'active'::text]))),
    CONSTRAINT unit_said_size CHECK ((char_length(said_message) <= 1000)),
    CONSTRAINT unit_status_known CHECK ((status_name = ANY (ARRAY['unknown'::text, 'maintenance'::text, 'waiting'::text, 'blocked'::text, 'active'::text, 'error'::text]))),
    CONSTRAINT unit_status_size CHECK ((char_length(status_message) <= 1000))
);

CREATE FUNCTION public.unit_shape(u public.unit) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', u.id, '", "application_id": "', u.application_id, '", "namespace": "', u.namespace, '", "name": ',
        to_json(u.name), ', "number": ', u.number, ', "life": "', u.life, '", "phase": "', u.phase,
        '", "machine": "', u.machine_id, '", "anywhere": ', to_json(u.is_anywhere), ', "storage": ',
        coalesce((SELECT json_agg(s.name ORDER BY s.number) FROM storage s WHERE s.unit_id = u.id), '[]'),
        ', "status": {"name": "', u.status_name, '", "message": ', to_json(u.status_message),
        '}, "workload_version": ', to_json(u.workload_version), ', "forced": ', to_json(u.is_forced), ', "version": ',
        u.version, time_member('created_at', u.created_at), time_member('updated_at', u.updated_at), '}'
    )::json
$$;

CREATE TABLE public.workflow (
    id uuid NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    template_id uuid NOT NULL,
    template_name text NOT NULL,
    devices public.jsonb_document NOT NULL,
    data text NOT NULL,
    state public.lifecycle_state DEFAULT 'PENDING'::text NOT NULL,
    total_actions integer NOT NULL,
    completed_actions integer DEFAULT 0 NOT NULL,
    global_timeout_seconds bigint DEFAULT 0 NOT NULL,
    cause jsonb,
    created_at public.moment DEFAULT statement_timestamp() NOT NULL,
    updated_at public.moment DEFAULT statement_timestamp() NOT NULL,
    started_at public.moment,
    deadline_at public.moment,
    finished_at public.moment,
    deleted_at public.moment,
    on_timeout text DEFAULT ''::text NOT NULL,
    on_failure text DEFAULT ''::text NOT NULL,
    recovers uuid,
    CONSTRAINT workflow_progress CHECK (((completed_actions >= 0) AND (completed_actions <= total_actions)))
);

CREATE FUNCTION public.workflow_shape(w public.workflow, with_data boolean) RETURNS json
    LANGUAGE sql STABLE
    AS $$
    SELECT concat(
        '{"id": "', w.id, '", "template_id": "', w.template_id, '", "template_name": ', to_json(w.template_name),
        ', "hardware": ', w.devices, ', "state": "', w.state, '", "version": ', w.version,
        ', "total_actions": ', w.total_actions, ', "completed_actions": ', w.completed_actions,
        ', "global_timeout_seconds": ', w.global_timeout_seconds, ', "cause": ' || w.cause::text,
        time_member('created_at', w.created_at), time_member('updated_at', w.updated_at),
        time_member('started_at', w.started_at), time_member('finished_at', w.finished_at),
        time_member('deleted_at', w.deleted_at), ', "on_timeout": ' || to_json(nullif(w.on_timeout, '')),
        ', "on_failure": ' || to_json(nullif(w.on_failure, '')), ', "recovers": "' || w.recovers || '"',
        ', "data": ' || to_json(CASE WHEN with_data THEN w.data END), '}'
    )::json
$$;

CREATE FUNCTION public.write_action_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, NULL, NULL);
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.state <> OLD.state THEN
        kind := CASE NEW.state WHEN 'RUNNING' THEN 'ACTION_STARTED' WHEN 'PENDING' THEN 'ACTION_RETRYING'
                               ELSE 'ACTION_' || NEW.state END;
    ELSIF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    PERFORM write_event('ACTION', NEW.id, NEW.workflow_id, kind, NEW.version, action_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_application_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, NULL, NULL);
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    ELSIF TG_OP = 'UPDATE' THEN
        IF (NEW.life, NEW.charm, NEW.charm_revision, NEW.config_version, NEW.leader, NEW.term, NEW.announced_term,
            NEW.status_name, NEW.status_message)
           IS NOT DISTINCT FROM
           (OLD.life, OLD.charm, OLD.charm_revision, OLD.config_version, OLD.leader, OLD.term, OLD.announced_term,
            OLD.status_name, OLD.status_message) THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM write_event('APPLICATION', NEW.id, NULL, kind, NEW.version, application_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_charm_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
        PERFORM write_event('CHARM', NEW.id, NULL, 'DELETED', NEW.version, charm_shape(NEW));
    ELSE
        PERFORM write_event('CHARM', NEW.id, NULL, 'CREATED', NEW.version, charm_shape(NEW));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_chart_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
        PERFORM write_event('CHART', NEW.id, NULL, 'DELETED', NEW.version, chart_shape(NEW));
    ELSE
        PERFORM write_event('CHART', NEW.id, NULL, 'CREATED', NEW.version, chart_shape(NEW));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_event(resource_type public.resource_type, resource_id uuid, parent_id uuid, event_type public.event_type, version bigint, data json, name text DEFAULT NULL::text) RETURNS public.events
    LANGUAGE plpgsql
    AS $$
DECLARE
    size    integer := octet_length(data::text);
    written events;
BEGIN
    IF size > 8388608 THEN
        RAISE EXCEPTION '% has more than 8 MiB of JSON in its event', concat_ws(' ', lower(resource_type), resource_id)
            USING ERRCODE = 'check_violation', CONSTRAINT = 'events_size', TABLE = 'events';
    END IF;
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    INSERT INTO events (resource_type, resource_id, parent_id, event_type, name, version, data, size)
    VALUES (resource_type, resource_id, parent_id, event_type, coalesce(name, event_name(resource_type, event_type)),
            version, data, size)
    RETURNING * INTO written;
    IF is_bell_wanted() THEN
        PERFORM ring_bell(written);
    END IF;
    RETURN written;
END $$;

CREATE FUNCTION public.write_hardware_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind  text := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
    shape json;
BEGIN
    IF kind IS NULL THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    shape := hardware_shape(NEW);
    -- The shape holds metadata and network, so these are measured only if it is larger than they may be.
    IF octet_length(shape::text) > 1048576
       AND octet_length(NEW.metadata::text) + octet_length(NEW.network::text) > 1048576 THEN
        RAISE EXCEPTION 'hardware % has more than 1 MiB of metadata and network together', NEW.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'hardware_size', TABLE = 'hardware';
    END IF;
    PERFORM write_event('HARDWARE', NEW.id, NULL, kind, NEW.version, shape);
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_lifecycle_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF octet_length(NEW.handlers::text) > 49152 THEN
        NEW.handlers := '[]';
    END IF;
    PERFORM write_event(
        'LIFECYCLE', NEW.id, NEW.release_id, 'LIFECYCLE_EMITTED', NEW.version, lifecycle_shape(NEW)
    );
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_namespace_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, NULL, NULL);
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    ELSIF TG_OP = 'UPDATE' THEN
        IF (NEW.update_status_seconds, NEW.event_timeout_seconds, NEW.is_retrying)
           IS NOT DISTINCT FROM (OLD.update_status_seconds, OLD.event_timeout_seconds, OLD.is_retrying) THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM write_event('NAMESPACE', NEW.id, NULL, kind, NEW.version, namespace_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_node_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := 'UPDATED';
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF NOT EXISTS (SELECT FROM operation WHERE id = OLD.operation_id) THEN
            RETURN NULL;
        END IF;
        kind := 'DELETED';
        NEW := OLD;
        NEW.version := OLD.version + 1;
    ELSIF NEW.state <> OLD.state THEN
        kind := CASE WHEN NEW.state IN ('INSTALLING', 'REMOVING') THEN 'NODE_STARTED' ELSE 'NODE_' || NEW.state END;
    END IF;
    PERFORM write_event('NODE', NEW.id, NEW.release_id, kind, NEW.version, node_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_operation_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text;
BEGIN
    IF TG_OP = 'INSERT' THEN
        kind := 'CREATED';
    ELSIF TG_OP = 'DELETE' THEN
        IF NOT EXISTS (SELECT FROM release WHERE id = OLD.release_id) THEN
            RETURN NULL;
        END IF;
        kind := 'DELETED';
        NEW := OLD;
        NEW.version := OLD.version + 1;
    ELSIF NEW.state <> OLD.state THEN
        kind := CASE NEW.state WHEN 'RUNNING' THEN 'OPERATION_STARTED' ELSE 'OPERATION_' || NEW.state END;
    ELSIF (NEW.cancel_requested_at, NEW.cancel_grace_seconds)
          IS DISTINCT FROM (OLD.cancel_requested_at, OLD.cancel_grace_seconds) THEN
        kind := 'UPDATED';
    ELSE
        RETURN NULL;
    END IF;
    PERFORM write_event('OPERATION', NEW.id, NEW.release_id, kind, NEW.version, operation_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_relation_bag_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    former jsonb := CASE WHEN TG_OP = 'UPDATE' THEN OLD.data ELSE '{}' END;
    about  relation;
BEGIN
    SELECT * INTO about FROM relation WHERE id = NEW.relation_id;
    IF NEW.data = former OR NOT FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM write_event('RELATION', about.id, NULL, 'RELATION_CHANGED', about.version, json_build_object(
        'id', about.id, 'number', about.number, 'namespace', about.namespace, 'interface', about.interface,
        'peer', about.is_peer, 'life', about.life, 'ends', about.ends, 'owner', NEW.owner, 'version', NEW.version,
        'keys', (SELECT coalesce(json_agg(key ORDER BY key), '[]')
                   FROM (SELECT key FROM jsonb_each(NEW.data) UNION SELECT key FROM jsonb_each(former)) all_keys
                  WHERE NEW.data -> key IS DISTINCT FROM former -> key)
    ));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_relation_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, NULL, NULL);
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    ELSIF TG_OP = 'UPDATE' THEN
        IF NEW.life = OLD.life THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM write_event('RELATION', NEW.id, NULL, kind, NEW.version, relation_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_release_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
BEGIN
    IF kind IS NULL THEN
        RETURN NULL;
    ELSIF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    ELSIF kind = 'UPDATED' AND NEW.state <> OLD.state THEN
        kind := CASE
            WHEN NEW.state = 'UNINSTALLED' THEN 'RELEASE_UNINSTALLED'
            WHEN NEW.state = 'DEPLOYED' AND EXISTS (
                SELECT FROM operation WHERE id = NEW.operation_id AND state = 'SUCCEEDED') THEN 'RELEASE_DEPLOYED'
            WHEN NEW.state = 'FAILED' AND (OLD.state = 'PENDING_INSTALL' OR NOT EXISTS (
                SELECT FROM operation
                 WHERE id = NEW.operation_id AND former_state = 'FAILED' AND plan IS NULL)) THEN 'RELEASE_FAILED'
            ELSE 'UPDATED' END;
    ELSIF kind = 'UPDATED' AND NEW.drift NOT IN ('', OLD.drift) THEN
        kind := 'RELEASE_DRIFTED';
    END IF;
    PERFORM write_event('RELEASE', NEW.id, NULL, kind, NEW.version, release_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_secret_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, NULL, NULL);
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    PERFORM write_event('SECRET', NEW.id, NEW.application_id, kind, NEW.version, secret_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_step_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := 'UPDATED';
BEGIN
    IF coalesce(NEW.kind, OLD.kind) NOT IN ('ACTION', 'DESTROY') THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT EXISTS (SELECT FROM operation WHERE id = OLD.operation_id) THEN
            RETURN NULL;
        END IF;
        kind := 'DELETED';
        NEW := OLD;
        NEW.version := OLD.version + 1;
    ELSIF TG_OP = 'INSERT' AND NEW.state = 'PENDING' THEN
        RETURN NULL;
    ELSIF TG_OP = 'INSERT' OR NEW.state <> OLD.state THEN
        kind := CASE NEW.state WHEN 'RUNNING' THEN 'STEP_STARTED' WHEN 'PENDING' THEN 'STEP_RETRYING'
                               ELSE 'STEP_' || NEW.state END;
    END IF;
    PERFORM write_event('STEP', NEW.id, NEW.release_id, kind, NEW.version, step_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_storage_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, NULL, NULL);
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    ELSIF TG_OP = 'UPDATE' THEN
        IF (NEW.unit_id, NEW.life, NEW.is_attached, NEW.machine_id)
           IS NOT DISTINCT FROM (OLD.unit_id, OLD.life, OLD.is_attached, OLD.machine_id) THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM write_event('STORAGE', NEW.id, NEW.application_id, kind, NEW.version, storage_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_task_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, NULL, NULL);
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.state <> OLD.state THEN
            kind := 'TASK_' || CASE NEW.state WHEN 'RUNNING' THEN 'STARTED' ELSE NEW.state END;
        ELSIF NEW.is_cancelled = OLD.is_cancelled THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM write_event('TASK', NEW.id, NEW.application_id, kind, NEW.version, task_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_template_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
BEGIN
    IF kind IS NULL THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    PERFORM write_event('TEMPLATE', NEW.id, NULL, kind, NEW.version, template_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_unit_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, NULL, NULL);
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    ELSIF TG_OP = 'UPDATE' THEN
        IF (NEW.life, NEW.phase, NEW.machine_id, NEW.is_anywhere, NEW.is_forced, NEW.prepare_requested,
            NEW.finish_requested, NEW.metrics_requested)
           IS NOT DISTINCT FROM
           (OLD.life, OLD.phase, OLD.machine_id, OLD.is_anywhere, OLD.is_forced, OLD.prepare_requested,
            OLD.finish_requested, OLD.metrics_requested) THEN
            IF (NEW.status_name, NEW.status_message, NEW.workload_version)
               IS NOT DISTINCT FROM (OLD.status_name, OLD.status_message, OLD.workload_version) THEN
                RETURN NULL;
            END IF;
            kind := 'UNIT_STATUS_CHANGED';
        END IF;
    END IF;
    PERFORM write_event('UNIT', NEW.id, NEW.application_id, kind, NEW.version, unit_shape(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_unit_event_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    what text := CASE NEW.state WHEN 'RUNNING' THEN 'STARTED' WHEN 'ERROR' THEN 'FAILED' ELSE NEW.state END;
    kind text := 'UNIT_EVENT_' || what;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.state = OLD.state AND NEW.attempt = OLD.attempt THEN
            -- One that has failed is to be tried again at another time: its agent must hear of it.
            IF NEW.state <> 'ERROR' OR NEW.retry_at IS NOT DISTINCT FROM OLD.retry_at THEN
                RETURN NULL;
            END IF;
            what := 'UPDATED';
            kind := 'UPDATED';
        END IF;
    END IF;
    PERFORM write_event(
        'UNIT_EVENT', NEW.id, NEW.application_id, kind, NEW.version, unit_event_shape(NEW),
        concat('unit.', nullif(coalesce(nullif(NEW.endpoint, ''), split_part(NEW.storage, '/', 1)), '') || '-', NEW.kind,
               CASE WHEN what <> 'COMMITTED' THEN '.' || lower(what) END)
    );
    RETURN NULL;
END $$;

CREATE FUNCTION public.write_workflow_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    kind text := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.state <> OLD.state AND coalesce(OLD.deleted_at, NEW.deleted_at) IS NULL THEN
        kind := CASE NEW.state WHEN 'RUNNING' THEN 'WORKFLOW_STARTED' ELSE 'WORKFLOW_' || NEW.state END;
    ELSIF kind = 'UPDATED' AND NEW.completed_actions > OLD.completed_actions THEN
        kind := 'WORKFLOW_INPROGRESS';
    ELSIF kind IS NULL THEN
        RETURN NULL;
    ELSIF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    PERFORM write_event('WORKFLOW', NEW.id, NULL, kind, NEW.version, workflow_shape(NEW, kind = 'CREATED'));
    RETURN NULL;
END $$;

CREATE TABLE public.action_status (
    id bigint NOT NULL,
    workflow_id uuid NOT NULL,
    action_id uuid NOT NULL,
    task_name text NOT NULL,
    action_name text NOT NULL,
    worker_id uuid NOT NULL,
    state text NOT NULL,
    attempt integer NOT NULL,
    seconds double precision NOT NULL,
    message text NOT NULL,
    exit_code bigint,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE public.action_status ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.action_status_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);

CREATE TABLE public.bell (
);

CREATE TABLE public.bell_secret (
    one boolean DEFAULT true NOT NULL,
    channel text NOT NULL,
    CONSTRAINT bell_secret_one_check CHECK (one)
);

CREATE UNLOGGED SEQUENCE public.bell_wanted
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    MAXVALUE 1
    CACHE 1;

CREATE TABLE public.lease (
    token bigint NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    owner text NOT NULL,
    engine text NOT NULL,
    acquired_at public.moment DEFAULT clock_timestamp() NOT NULL,
    expires_at public.moment NOT NULL
);

CREATE TABLE public.machine_hold (
    worker_id uuid NOT NULL,
    workflow_id uuid NOT NULL,
    lease_id uuid,
    action_id uuid
);

CREATE VIEW public.busy_machine AS
 SELECT h.worker_id,
    h.workflow_id
   FROM (public.machine_hold h
     JOIN public.workflow w ON ((w.id = h.workflow_id)))
  WHERE ((((w.state)::text = 'RUNNING'::text) AND (w.deleted_at IS NULL)) OR (EXISTS ( SELECT
           FROM public.lease l
          WHERE ((l.id = h.lease_id) AND ((l.expires_at)::timestamp with time zone > clock_timestamp())))));

CREATE TABLE public.charm_chunk (
    charm_id uuid NOT NULL,
    number integer NOT NULL,
    data public.charm_data NOT NULL
);
ALTER TABLE ONLY public.charm_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE public.deferred_notice (
    id bigint NOT NULL,
    unit_id uuid NOT NULL,
    key text NOT NULL,
    ordinal bigint NOT NULL,
    event public.unit_document NOT NULL,
    handler text NOT NULL,
    attempts integer DEFAULT 1 NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE public.deferred_notice ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.deferred_notice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.event_discard (
    partition_name text NOT NULL,
    discarded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.event_history (
    one boolean DEFAULT true NOT NULL,
    history_id uuid DEFAULT gen_random_uuid() NOT NULL,
    oldest_revision bigint DEFAULT 1 NOT NULL,
    identity text NOT NULL,
    CONSTRAINT event_history_one_check CHECK (one)
);

CREATE TABLE public.event_position (
    name text NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    history_id uuid NOT NULL,
    token bigint DEFAULT 0 NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL
);

CREATE SEQUENCE public.events_revision
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.events_revision OWNED BY public.events.revision;

CREATE TABLE public.hardware_address (
    hardware_id uuid NOT NULL,
    mac macaddr,
    ip inet,
    CONSTRAINT hardware_address_one CHECK ((num_nonnulls(mac, ip) = 1))
);

ALTER TABLE public.lease ALTER COLUMN token ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.lease_token_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.log_line (
    action_id uuid NOT NULL,
    attempt integer NOT NULL,
    number bigint NOT NULL,
    stream text NOT NULL,
    line text NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    is_open boolean DEFAULT false NOT NULL,
    CONSTRAINT log_line_stream_known CHECK ((stream = ANY (ARRAY['STDOUT'::text, 'STDERR'::text])))
);

CREATE TABLE public.port (
    unit_id uuid NOT NULL,
    protocol text NOT NULL,
    number integer NOT NULL,
    CONSTRAINT port_protocol_known CHECK ((protocol = ANY (ARRAY['tcp'::text, 'udp'::text, 'icmp'::text]))),
    CONSTRAINT port_range CHECK (((number >= 0) AND (number <= 65535)))
);

CREATE TABLE public.pruning_turn (
    one boolean DEFAULT true NOT NULL,
    holder uuid NOT NULL,
    held_until public.moment NOT NULL,
    CONSTRAINT pruning_turn_one_check CHECK (one)
);

CREATE TABLE public.relation_bag (
    relation_id uuid NOT NULL,
    owner text NOT NULL,
    data jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    updated_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT relation_bag_size CHECK ((octet_length((data)::text) <= 1048576))
);

CREATE TABLE public.relation_end (
    relation_id uuid NOT NULL,
    application_id uuid NOT NULL,
    endpoint text NOT NULL
);

CREATE TABLE public.relation_member (
    relation_id uuid NOT NULL,
    unit_id uuid NOT NULL,
    membership text DEFAULT 'ENTERING'::text NOT NULL,
    entered bigint DEFAULT 0 NOT NULL,
    CONSTRAINT relation_member_known CHECK ((membership = ANY (ARRAY['ENTERING'::text, 'IN'::text, 'LEFT'::text])))
);

CREATE SEQUENCE public.relation_member_entered
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.relay (
);

CREATE TABLE public.release_resource (
    release_id uuid NOT NULL,
    path text NOT NULL,
    type text NOT NULL,
    revision integer NOT NULL,
    image_id text DEFAULT ''::text NOT NULL,
    init public.resource_answer,
    config public.resource_config,
    state public.resource_answer,
    status public.resource_status DEFAULT 'UNKNOWN'::text NOT NULL,
    owned boolean DEFAULT false NOT NULL,
    observed_at public.moment DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.release_revision (
    release_id uuid NOT NULL,
    revision integer NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    state public.revision_state DEFAULT 'PENDING'::text NOT NULL,
    source public.release_document NOT NULL,
    manifest public.release_document NOT NULL,
    late public.release_document NOT NULL,
    plan public.release_document NOT NULL,
    rollback_of integer DEFAULT 0 NOT NULL,
    operation_id uuid NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    created_at public.moment DEFAULT statement_timestamp() NOT NULL,
    updated_at public.moment DEFAULT statement_timestamp() NOT NULL,
    chart_id uuid,
    CONSTRAINT release_revision_number CHECK ((revision > 0))
);

CREATE TABLE public.schema_file (
    name text NOT NULL,
    sha256 text NOT NULL
);

CREATE TABLE public.schema_release (
    one boolean DEFAULT true NOT NULL,
    release text NOT NULL,
    oldest_release text NOT NULL,
    CONSTRAINT schema_release_one_check CHECK (one)
);

CREATE TABLE public.sealed_value (
    id bigint NOT NULL,
    owner_kind text NOT NULL,
    owner_id text NOT NULL,
    document text NOT NULL,
    pointer text NOT NULL,
    sealed bytea NOT NULL
);
ALTER TABLE ONLY public.sealed_value ALTER COLUMN sealed SET STORAGE EXTERNAL;

ALTER TABLE public.sealed_value ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.sealed_value_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.secret_grant (
    id bigint NOT NULL,
    secret_id uuid NOT NULL,
    relation_id uuid,
    application_id uuid NOT NULL,
    unit_id uuid
);

ALTER TABLE public.secret_grant ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.secret_grant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.secret_reader (
    secret_id uuid NOT NULL,
    unit_id uuid NOT NULL,
    tracked bigint DEFAULT 0 NOT NULL,
    told bigint DEFAULT 0 NOT NULL,
    label text DEFAULT ''::text NOT NULL,
    expired bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    removed bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    CONSTRAINT secret_reader_label_size CHECK ((char_length(label) <= 100))
);

CREATE TABLE public.secret_revision (
    secret_id uuid NOT NULL,
    revision bigint NOT NULL,
    expires_at public.moment,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT secret_revision_number CHECK ((revision > 0))
);

CREATE TABLE public.self_enrolment (
    hardware_id uuid NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.step_log (
    id bigint NOT NULL,
    operation_id uuid NOT NULL,
    step_id uuid NOT NULL,
    attempt integer NOT NULL,
    number bigint NOT NULL,
    stream text NOT NULL,
    line text NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    is_open boolean DEFAULT false NOT NULL,
    CONSTRAINT step_log_stream_known CHECK ((stream = ANY (ARRAY['STDOUT'::text, 'STDERR'::text])))
);

ALTER TABLE public.step_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.step_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.task_line (
    task_id uuid NOT NULL,
    number bigint NOT NULL,
    line text NOT NULL,
    CONSTRAINT task_line_size CHECK ((octet_length(line) <= 131072))
);

ALTER TABLE public.task ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.task_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.unit_agent (
    lease_id uuid NOT NULL,
    machines uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    is_anywhere boolean DEFAULT false NOT NULL,
    kinds text[] NOT NULL,
    charms text[] DEFAULT '{}'::text[] NOT NULL,
    namespace text DEFAULT ''::text NOT NULL,
    applications text[] DEFAULT '{}'::text[] NOT NULL,
    connected_at public.moment DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.unit_log (
    id bigint NOT NULL,
    unit_id uuid NOT NULL,
    ordinal bigint NOT NULL,
    attempt integer NOT NULL,
    number bigint NOT NULL,
    level text NOT NULL,
    line text NOT NULL,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT unit_log_level_known CHECK ((level = ANY (ARRAY['STDOUT'::text, 'STDERR'::text, 'DEBUG'::text, 'INFO'::text, 'WARNING'::text, 'ERROR'::text]))),
    CONSTRAINT unit_log_size CHECK ((octet_length(line) <= 131072))
);

ALTER TABLE public.unit_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.unit_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.unit_member (
    unit_id uuid NOT NULL,
    relation_id uuid NOT NULL,
    member_id uuid NOT NULL,
    seen_version bigint DEFAULT 0 NOT NULL,
    is_told boolean DEFAULT false NOT NULL,
    is_older boolean DEFAULT false NOT NULL
);

CREATE TABLE public.unit_relation (
    unit_id uuid NOT NULL,
    relation_id uuid NOT NULL,
    is_created boolean DEFAULT false NOT NULL,
    is_broken boolean DEFAULT false NOT NULL,
    application_version bigint DEFAULT 0 NOT NULL,
    own_version bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.unit_state (
    unit_id uuid NOT NULL,
    data jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT unit_state_size CHECK ((octet_length((data)::text) <= 1048576))
);

CREATE TABLE public.workflow_data (
    workflow_id uuid NOT NULL,
    version integer NOT NULL,
    metadata json NOT NULL,
    data json,
    created_at public.moment DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ONLY public.events ALTER COLUMN revision SET DEFAULT nextval('public.events_revision'::regclass);

ALTER TABLE ONLY public.action
    ADD CONSTRAINT action_name UNIQUE (workflow_id, task_name, name);

ALTER TABLE ONLY public.action
    ADD CONSTRAINT action_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.action
    ADD CONSTRAINT action_place UNIQUE (workflow_id, action_index);

ALTER TABLE ONLY public.action_status
    ADD CONSTRAINT action_status_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);

ALTER TABLE ONLY public.application
    ADD CONSTRAINT application_name UNIQUE (namespace, name);

ALTER TABLE ONLY public.application
    ADD CONSTRAINT application_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.bell_secret
    ADD CONSTRAINT bell_secret_pkey PRIMARY KEY (one);

ALTER TABLE ONLY public.charm_chunk
    ADD CONSTRAINT charm_chunk_pkey PRIMARY KEY (charm_id, number);

ALTER TABLE ONLY public.charm
    ADD CONSTRAINT charm_digest UNIQUE (digest);

ALTER TABLE ONLY public.charm
    ADD CONSTRAINT charm_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.chart
    ADD CONSTRAINT chart_digest UNIQUE (digest);

ALTER TABLE ONLY public.chart
    ADD CONSTRAINT chart_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.deferred_notice
    ADD CONSTRAINT deferred_notice_once UNIQUE (unit_id, key);

ALTER TABLE ONLY public.deferred_notice
    ADD CONSTRAINT deferred_notice_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.event_discard
    ADD CONSTRAINT event_discard_pkey PRIMARY KEY (partition_name);

ALTER TABLE ONLY public.event_history
    ADD CONSTRAINT event_history_pkey PRIMARY KEY (one);

ALTER TABLE ONLY public.event_position
    ADD CONSTRAINT event_position_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (revision);

ALTER TABLE ONLY public.hardware_address
    ADD CONSTRAINT hardware_address_ip UNIQUE (ip);

ALTER TABLE ONLY public.hardware_address
    ADD CONSTRAINT hardware_address_mac UNIQUE (mac);

ALTER TABLE ONLY public.hardware
    ADD CONSTRAINT hardware_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.lease
    ADD CONSTRAINT lease_id UNIQUE (id);

ALTER TABLE ONLY public.lease
    ADD CONSTRAINT lease_owner UNIQUE (owner);

ALTER TABLE ONLY public.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (token);

ALTER TABLE ONLY public.lifecycle
    ADD CONSTRAINT lifecycle_once UNIQUE (operation_id, event, chart);

ALTER TABLE ONLY public.lifecycle
    ADD CONSTRAINT lifecycle_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.lifecycle
    ADD CONSTRAINT lifecycle_place UNIQUE (operation_id, ordinal);

ALTER TABLE ONLY public.log_line
    ADD CONSTRAINT log_line_pkey PRIMARY KEY (action_id, attempt, number);

ALTER TABLE ONLY public.machine_hold
    ADD CONSTRAINT machine_hold_pkey PRIMARY KEY (worker_id);

ALTER TABLE ONLY public.namespace
    ADD CONSTRAINT namespace_name UNIQUE (name);

ALTER TABLE ONLY public.namespace
    ADD CONSTRAINT namespace_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.node
    ADD CONSTRAINT node_path UNIQUE (operation_id, path);

ALTER TABLE ONLY public.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.node
    ADD CONSTRAINT node_place UNIQUE (operation_id, ordinal);

ALTER TABLE ONLY public.operation
    ADD CONSTRAINT operation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.port
    ADD CONSTRAINT port_pkey PRIMARY KEY (unit_id, protocol, number);

ALTER TABLE ONLY public.pruning_turn
    ADD CONSTRAINT pruning_turn_pkey PRIMARY KEY (one);

ALTER TABLE ONLY public.relation_bag
    ADD CONSTRAINT relation_bag_pkey PRIMARY KEY (relation_id, owner);

ALTER TABLE ONLY public.relation_end
    ADD CONSTRAINT relation_end_pkey PRIMARY KEY (relation_id, application_id);

ALTER TABLE ONLY public.relation_member
    ADD CONSTRAINT relation_member_pkey PRIMARY KEY (relation_id, unit_id);

ALTER TABLE ONLY public.relation
    ADD CONSTRAINT relation_number UNIQUE (namespace, number);

ALTER TABLE ONLY public.relation
    ADD CONSTRAINT relation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.release
    ADD CONSTRAINT release_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.release_resource
    ADD CONSTRAINT release_resource_pkey PRIMARY KEY (release_id, path);

ALTER TABLE ONLY public.release_revision
    ADD CONSTRAINT release_revision_pkey PRIMARY KEY (release_id, revision);

ALTER TABLE ONLY public.schema_file
    ADD CONSTRAINT schema_file_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.schema_release
    ADD CONSTRAINT schema_release_pkey PRIMARY KEY (one);

ALTER TABLE ONLY public.sealed_value
    ADD CONSTRAINT sealed_value_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.sealed_value
    ADD CONSTRAINT sealed_value_place UNIQUE (owner_kind, owner_id, document, pointer);

ALTER TABLE ONLY public.secret_grant
    ADD CONSTRAINT secret_grant_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_name UNIQUE (namespace, name);

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.secret_reader
    ADD CONSTRAINT secret_reader_pkey PRIMARY KEY (secret_id, unit_id);

ALTER TABLE ONLY public.secret_revision
    ADD CONSTRAINT secret_revision_pkey PRIMARY KEY (secret_id, revision);

ALTER TABLE ONLY public.self_enrolment
    ADD CONSTRAINT self_enrolment_pkey PRIMARY KEY (hardware_id);

ALTER TABLE ONLY public.step_log
    ADD CONSTRAINT step_log_pkey PRIMARY KEY (step_id, attempt, number);

ALTER TABLE ONLY public.step
    ADD CONSTRAINT step_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.step
    ADD CONSTRAINT step_place UNIQUE (node_id, ordinal);

ALTER TABLE ONLY public.storage
    ADD CONSTRAINT storage_name UNIQUE (namespace, name);

ALTER TABLE ONLY public.storage
    ADD CONSTRAINT storage_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.task_line
    ADD CONSTRAINT task_line_pkey PRIMARY KEY (task_id, number);

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.template
    ADD CONSTRAINT template_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.unit_agent
    ADD CONSTRAINT unit_agent_pkey PRIMARY KEY (lease_id);

ALTER TABLE ONLY public.unit_event
    ADD CONSTRAINT unit_event_ordinal UNIQUE (unit_id, ordinal);

ALTER TABLE ONLY public.unit_event
    ADD CONSTRAINT unit_event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.unit_log
    ADD CONSTRAINT unit_log_pkey PRIMARY KEY (unit_id, ordinal, attempt, number);

ALTER TABLE ONLY public.unit_member
    ADD CONSTRAINT unit_member_pkey PRIMARY KEY (unit_id, relation_id, member_id);

ALTER TABLE ONLY public.unit
    ADD CONSTRAINT unit_name UNIQUE (namespace, name);

ALTER TABLE ONLY public.unit
    ADD CONSTRAINT unit_number UNIQUE (application_id, number);

ALTER TABLE ONLY public.unit
    ADD CONSTRAINT unit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.unit_relation
    ADD CONSTRAINT unit_relation_pkey PRIMARY KEY (unit_id, relation_id);

ALTER TABLE ONLY public.unit_state
    ADD CONSTRAINT unit_state_pkey PRIMARY KEY (unit_id);

ALTER TABLE ONLY public.workflow_data
    ADD CONSTRAINT workflow_data_pkey PRIMARY KEY (workflow_id, version);

ALTER TABLE ONLY public.workflow
    ADD CONSTRAINT workflow_pkey PRIMARY KEY (id);

CREATE INDEX action_status_workflow ON public.action_status USING btree (workflow_id, id);

CREATE INDEX action_worker ON public.action USING btree (worker_id, workflow_id);

CREATE INDEX application_charm ON public.application USING btree (charm);

CREATE INDEX application_dying ON public.application USING btree (id) WHERE ((life)::text <> 'ALIVE'::text);

CREATE INDEX charm_used ON public.charm USING btree (used_at);

CREATE INDEX chart_name ON public.chart USING btree (name, created_at);

CREATE INDEX chart_used ON public.chart USING btree (used_at);

CREATE INDEX hardware_address_hardware ON public.hardware_address USING btree (hardware_id);

CREATE INDEX hardware_deleted ON public.hardware USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);

CREATE INDEX machine_hold_workflow ON public.machine_hold USING btree (workflow_id);

CREATE UNIQUE INDEX operation_active ON public.operation USING btree (release_id) WHERE ((state)::text = ANY (ARRAY['PENDING'::text, 'RUNNING'::text]));

CREATE INDEX operation_chart ON public.operation USING btree (chart_id) WHERE (chart_id IS NOT NULL);

CREATE INDEX operation_release ON public.operation USING btree (release_id, created_at, id);

CREATE INDEX operation_unfinished ON public.operation USING btree (created_at, id) WHERE ((state)::text = ANY (ARRAY['PENDING'::text, 'RUNNING'::text]));

CREATE UNIQUE INDEX relation_alive ON public.relation USING btree (namespace, ends) WHERE ((life)::text = 'ALIVE'::text);

CREATE INDEX relation_dying ON public.relation USING btree (id) WHERE ((life)::text <> 'ALIVE'::text);

CREATE INDEX relation_end_application ON public.relation_end USING btree (application_id, endpoint);

CREATE INDEX relation_member_unit ON public.relation_member USING btree (unit_id);

CREATE INDEX release_deleted ON public.release USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);

CREATE UNIQUE INDEX release_name ON public.release USING btree (namespace, name) WHERE (deleted_at IS NULL);

CREATE INDEX release_planned ON public.release USING btree (created_at) WHERE ((state)::text = 'PLANNED'::text);

CREATE INDEX release_revision_chart ON public.release_revision USING btree (chart_id) WHERE (chart_id IS NOT NULL);

CREATE UNIQUE INDEX release_revision_deployed ON public.release_revision USING btree (release_id) WHERE ((state)::text = 'DEPLOYED'::text);

CREATE INDEX sealed_value_key ON public.sealed_value USING btree (SUBSTRING(sealed FROM 2 FOR 8), id);

CREATE INDEX secret_application ON public.secret USING btree (application_id) WHERE (application_id IS NOT NULL);

CREATE INDEX secret_grant_application ON public.secret_grant USING btree (application_id);

CREATE UNIQUE INDEX secret_grant_once ON public.secret_grant USING btree (secret_id, application_id, COALESCE(relation_id, '00000000-0000-0000-0000-000000000000'::uuid), COALESCE(unit_id, '00000000-0000-0000-0000-000000000000'::uuid));

CREATE INDEX secret_grant_relation ON public.secret_grant USING btree (relation_id) WHERE (relation_id IS NOT NULL);

CREATE INDEX secret_grant_unit ON public.secret_grant USING btree (unit_id) WHERE (unit_id IS NOT NULL);

CREATE UNIQUE INDEX secret_label ON public.secret USING btree (namespace, owner, label) WHERE (label <> ''::text);

CREATE UNIQUE INDEX secret_reader_label ON public.secret_reader USING btree (unit_id, label) WHERE (label <> ''::text);

CREATE INDEX secret_reader_unit ON public.secret_reader USING btree (unit_id);

CREATE INDEX secret_revision_expires ON public.secret_revision USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX secret_rotates ON public.secret USING btree (rotates_at) WHERE (rotates_at IS NOT NULL);

CREATE INDEX secret_unit ON public.secret USING btree (unit_id) WHERE (unit_id IS NOT NULL);

CREATE INDEX step_log_operation ON public.step_log USING btree (operation_id, id);

CREATE INDEX storage_application ON public.storage USING btree (application_id);

CREATE INDEX storage_unit ON public.storage USING btree (unit_id) WHERE (unit_id IS NOT NULL);

CREATE UNIQUE INDEX task_active ON public.task USING btree (unit_id) WHERE ((state)::text = 'RUNNING'::text);

CREATE INDEX task_deadline ON public.task USING btree (deadline_at) WHERE ((state)::text = 'RUNNING'::text);

CREATE INDEX task_pending ON public.task USING btree (unit_id, number) WHERE ((state)::text = 'PENDING'::text);

CREATE INDEX task_unit ON public.task USING btree (unit_id, number);

CREATE INDEX template_deleted ON public.template USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);

CREATE INDEX template_live ON public.template USING btree (created_at, id) WHERE (deleted_at IS NULL);

CREATE UNIQUE INDEX template_name ON public.template USING btree (name) WHERE (deleted_at IS NULL);

CREATE INDEX unit_charm ON public.unit USING btree (charm);

CREATE INDEX unit_charm_seen ON public.unit USING btree (charm_seen);

CREATE INDEX unit_dead ON public.unit USING btree (application_id) WHERE ((life)::text = 'DEAD'::text);

CREATE UNIQUE INDEX unit_event_active ON public.unit_event USING btree (unit_id) WHERE ((state)::text = ANY (ARRAY['RUNNING'::text, 'ERROR'::text]));

CREATE INDEX unit_force ON public.unit USING btree (force_at) WHERE (force_at IS NOT NULL);

CREATE INDEX unit_lease ON public.unit USING btree (lease_id) WHERE (lease_id IS NOT NULL);

CREATE INDEX unit_log_unit ON public.unit_log USING btree (unit_id, id);

CREATE INDEX unit_machine ON public.unit USING btree (machine_id) WHERE (machine_id IS NOT NULL);

CREATE INDEX unit_member_member ON public.unit_member USING btree (member_id);

CREATE INDEX unit_relation_relation ON public.unit_relation USING btree (relation_id);

CREATE INDEX unit_waiting ON public.unit USING btree (id) WHERE ((phase)::text = 'WAITING'::text);

CREATE INDEX workflow_ended ON public.workflow USING btree (LEAST(finished_at, deleted_at), id) WHERE ((finished_at IS NOT NULL) OR (deleted_at IS NOT NULL));

CREATE INDEX workflow_live ON public.workflow USING btree (created_at, id) WHERE (deleted_at IS NULL);

CREATE INDEX workflow_recovers ON public.workflow USING btree (recovers) WHERE (recovers IS NOT NULL);

CREATE INDEX workflow_template ON public.workflow USING btree (template_id);

CREATE INDEX workflow_unfinished ON public.workflow USING btree (created_at, id) WHERE ((deleted_at IS NULL) AND ((state)::text = ANY (ARRAY['PENDING'::text, 'RUNNING'::text])));

CREATE CONSTRAINT TRIGGER action_event AFTER INSERT OR DELETE OR UPDATE ON public.action DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_action_event();

ALTER TABLE public.action ENABLE ALWAYS TRIGGER action_event;

CREATE TRIGGER action_identity BEFORE UPDATE OF id, workflow_id ON public.action FOR EACH ROW WHEN (((old.id IS DISTINCT FROM new.id) OR (old.workflow_id IS DISTINCT FROM new.workflow_id))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.action ENABLE ALWAYS TRIGGER action_identity;

CREATE TRIGGER action_retry BEFORE UPDATE OF state ON public.action FOR EACH ROW WHEN ((((old.state)::text = 'RUNNING'::text) AND ((new.state)::text = 'PENDING'::text))) EXECUTE FUNCTION public.check_retry();

CREATE TRIGGER action_transition BEFORE UPDATE OF state ON public.action FOR EACH ROW EXECUTE FUNCTION public.check_transition();

CREATE TRIGGER action_truncate BEFORE TRUNCATE ON public.action FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.action ENABLE ALWAYS TRIGGER action_truncate;

CREATE TRIGGER action_version BEFORE UPDATE ON public.action FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.action ENABLE ALWAYS TRIGGER action_version;

CREATE TRIGGER application_config BEFORE UPDATE OF config ON public.application FOR EACH ROW EXECUTE FUNCTION public.count_config_version();

ALTER TABLE public.application ENABLE ALWAYS TRIGGER application_config;

CREATE CONSTRAINT TRIGGER application_event AFTER INSERT OR DELETE OR UPDATE ON public.application DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_application_event();

ALTER TABLE public.application ENABLE ALWAYS TRIGGER application_event;

CREATE TRIGGER application_identity BEFORE UPDATE OF id, namespace, name ON public.application FOR EACH ROW WHEN ((((old.id IS DISTINCT FROM new.id) OR ((old.namespace)::text IS DISTINCT FROM (new.namespace)::text)) OR ((old.name)::text IS DISTINCT FROM (new.name)::text))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.application ENABLE ALWAYS TRIGGER application_identity;

CREATE TRIGGER application_transition BEFORE UPDATE OF life ON public.application FOR EACH ROW EXECUTE FUNCTION public.check_unit_transition();

CREATE TRIGGER application_truncate BEFORE TRUNCATE ON public.application FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.application ENABLE ALWAYS TRIGGER application_truncate;

CREATE TRIGGER application_version BEFORE UPDATE ON public.application FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.application ENABLE ALWAYS TRIGGER application_version;

CREATE CONSTRAINT TRIGGER charm_event AFTER INSERT OR DELETE ON public.charm DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_charm_event();

ALTER TABLE public.charm ENABLE ALWAYS TRIGGER charm_event;

CREATE TRIGGER charm_identity BEFORE UPDATE OF id, digest ON public.charm FOR EACH ROW WHEN (((old.id IS DISTINCT FROM new.id) OR (old.digest IS DISTINCT FROM new.digest))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.charm ENABLE ALWAYS TRIGGER charm_identity;

CREATE TRIGGER charm_truncate BEFORE TRUNCATE ON public.charm FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.charm ENABLE ALWAYS TRIGGER charm_truncate;

CREATE TRIGGER charm_version BEFORE UPDATE ON public.charm FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.charm ENABLE ALWAYS TRIGGER charm_version;

CREATE CONSTRAINT TRIGGER chart_event AFTER INSERT OR DELETE ON public.chart DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_chart_event();

ALTER TABLE public.chart ENABLE ALWAYS TRIGGER chart_event;

CREATE TRIGGER chart_identity BEFORE UPDATE OF id, digest, name, chart_version, metadata, archive, size ON public.chart FOR EACH ROW WHEN ((((((((old.id IS DISTINCT FROM new.id) OR (old.digest IS DISTINCT FROM new.digest)) OR (old.name IS DISTINCT FROM new.name)) OR (old.chart_version IS DISTINCT FROM new.chart_version)) OR ((old.metadata)::text IS DISTINCT FROM (new.metadata)::text)) OR ((old.archive)::bytea IS DISTINCT FROM (new.archive)::bytea)) OR (old.size IS DISTINCT FROM new.size))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.chart ENABLE ALWAYS TRIGGER chart_identity;

CREATE TRIGGER chart_truncate BEFORE TRUNCATE ON public.chart FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.chart ENABLE ALWAYS TRIGGER chart_truncate;

CREATE TRIGGER chart_version BEFORE UPDATE ON public.chart FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.chart ENABLE ALWAYS TRIGGER chart_version;

CREATE TRIGGER events_kept BEFORE DELETE OR UPDATE OF revision, id, resource_type, resource_id, parent_id, event_type, name, version, actor, data, size ON public.events FOR EACH ROW EXECUTE FUNCTION public.refuse_rewriting();

ALTER TABLE public.events ENABLE ALWAYS TRIGGER events_kept;

CREATE TRIGGER events_truncate BEFORE TRUNCATE ON public.events FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.events ENABLE ALWAYS TRIGGER events_truncate;

CREATE TRIGGER hardware_addresses AFTER INSERT OR UPDATE ON public.hardware FOR EACH ROW EXECUTE FUNCTION public.keep_addresses();

CREATE CONSTRAINT TRIGGER hardware_event AFTER INSERT OR DELETE OR UPDATE ON public.hardware DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_hardware_event();

ALTER TABLE public.hardware ENABLE ALWAYS TRIGGER hardware_event;

CREATE TRIGGER hardware_identity BEFORE UPDATE OF id ON public.hardware FOR EACH ROW WHEN ((old.id IS DISTINCT FROM new.id)) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.hardware ENABLE ALWAYS TRIGGER hardware_identity;

CREATE TRIGGER hardware_truncate BEFORE TRUNCATE ON public.hardware FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.hardware ENABLE ALWAYS TRIGGER hardware_truncate;

CREATE TRIGGER hardware_version BEFORE UPDATE ON public.hardware FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.hardware ENABLE ALWAYS TRIGGER hardware_version;

CREATE CONSTRAINT TRIGGER lifecycle_event AFTER INSERT OR UPDATE ON public.lifecycle DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_lifecycle_event();

ALTER TABLE public.lifecycle ENABLE ALWAYS TRIGGER lifecycle_event;

CREATE TRIGGER lifecycle_identity BEFORE UPDATE OF id ON public.lifecycle FOR EACH ROW WHEN ((old.id IS DISTINCT FROM new.id)) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.lifecycle ENABLE ALWAYS TRIGGER lifecycle_identity;

CREATE TRIGGER lifecycle_legal BEFORE INSERT OR UPDATE ON public.lifecycle FOR EACH ROW EXECUTE FUNCTION public.check_lifecycle();

CREATE TRIGGER lifecycle_truncate BEFORE TRUNCATE ON public.lifecycle FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.lifecycle ENABLE ALWAYS TRIGGER lifecycle_truncate;

CREATE TRIGGER lifecycle_version BEFORE UPDATE ON public.lifecycle FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.lifecycle ENABLE ALWAYS TRIGGER lifecycle_version;

CREATE CONSTRAINT TRIGGER namespace_event AFTER INSERT OR DELETE OR UPDATE ON public.namespace DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_namespace_event();

ALTER TABLE public.namespace ENABLE ALWAYS TRIGGER namespace_event;

CREATE TRIGGER namespace_identity BEFORE UPDATE OF id, name ON public.namespace FOR EACH ROW WHEN (((old.id IS DISTINCT FROM new.id) OR ((old.name)::text IS DISTINCT FROM (new.name)::text))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.namespace ENABLE ALWAYS TRIGGER namespace_identity;

CREATE TRIGGER namespace_truncate BEFORE TRUNCATE ON public.namespace FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.namespace ENABLE ALWAYS TRIGGER namespace_truncate;

CREATE TRIGGER namespace_version BEFORE UPDATE ON public.namespace FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.namespace ENABLE ALWAYS TRIGGER namespace_version;

CREATE CONSTRAINT TRIGGER node_event AFTER DELETE OR UPDATE ON public.node DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_node_event();

ALTER TABLE public.node ENABLE ALWAYS TRIGGER node_event;

CREATE TRIGGER node_identity BEFORE UPDATE OF id, operation_id, release_id ON public.node FOR EACH ROW WHEN ((((old.id IS DISTINCT FROM new.id) OR (old.operation_id IS DISTINCT FROM new.operation_id)) OR (old.release_id IS DISTINCT FROM new.release_id))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.node ENABLE ALWAYS TRIGGER node_identity;

CREATE TRIGGER node_transition BEFORE UPDATE OF state ON public.node FOR EACH ROW EXECUTE FUNCTION public.check_release_transition();

CREATE TRIGGER node_truncate BEFORE TRUNCATE ON public.node FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.node ENABLE ALWAYS TRIGGER node_truncate;

CREATE TRIGGER node_version BEFORE UPDATE ON public.node FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.node ENABLE ALWAYS TRIGGER node_version;

CREATE CONSTRAINT TRIGGER operation_event AFTER INSERT OR DELETE OR UPDATE ON public.operation DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_operation_event();

ALTER TABLE public.operation ENABLE ALWAYS TRIGGER operation_event;

CREATE TRIGGER operation_identity BEFORE UPDATE OF id, release_id ON public.operation FOR EACH ROW WHEN (((old.id IS DISTINCT FROM new.id) OR (old.release_id IS DISTINCT FROM new.release_id))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.operation ENABLE ALWAYS TRIGGER operation_identity;

CREATE TRIGGER operation_sealed AFTER DELETE ON public.operation FOR EACH ROW EXECUTE FUNCTION public.delete_sealed();

CREATE TRIGGER operation_transition BEFORE UPDATE OF state ON public.operation FOR EACH ROW EXECUTE FUNCTION public.check_release_transition();

CREATE TRIGGER operation_truncate BEFORE TRUNCATE ON public.operation FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.operation ENABLE ALWAYS TRIGGER operation_truncate;

CREATE TRIGGER operation_version BEFORE UPDATE ON public.operation FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.operation ENABLE ALWAYS TRIGGER operation_version;

CREATE CONSTRAINT TRIGGER relation_bag_event AFTER INSERT OR UPDATE ON public.relation_bag DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_relation_bag_event();

ALTER TABLE public.relation_bag ENABLE ALWAYS TRIGGER relation_bag_event;

CREATE TRIGGER relation_bag_identity BEFORE UPDATE OF relation_id, owner ON public.relation_bag FOR EACH ROW WHEN (((old.relation_id IS DISTINCT FROM new.relation_id) OR (old.owner IS DISTINCT FROM new.owner))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.relation_bag ENABLE ALWAYS TRIGGER relation_bag_identity;

CREATE TRIGGER relation_bag_truncate BEFORE TRUNCATE ON public.relation_bag FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.relation_bag ENABLE ALWAYS TRIGGER relation_bag_truncate;

CREATE TRIGGER relation_bag_version BEFORE INSERT OR UPDATE ON public.relation_bag FOR EACH ROW EXECUTE FUNCTION public.count_bag_version();

ALTER TABLE public.relation_bag ENABLE ALWAYS TRIGGER relation_bag_version;

CREATE CONSTRAINT TRIGGER relation_event AFTER INSERT OR DELETE OR UPDATE ON public.relation DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_relation_event();

ALTER TABLE public.relation ENABLE ALWAYS TRIGGER relation_event;

CREATE TRIGGER relation_identity BEFORE UPDATE OF id, namespace, number, ends ON public.relation FOR EACH ROW WHEN (((((old.id IS DISTINCT FROM new.id) OR ((old.namespace)::text IS DISTINCT FROM (new.namespace)::text)) OR (old.number IS DISTINCT FROM new.number)) OR (old.ends IS DISTINCT FROM new.ends))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.relation ENABLE ALWAYS TRIGGER relation_identity;

CREATE TRIGGER relation_transition BEFORE UPDATE OF life ON public.relation FOR EACH ROW EXECUTE FUNCTION public.check_unit_transition();

CREATE TRIGGER relation_truncate BEFORE TRUNCATE ON public.relation FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.relation ENABLE ALWAYS TRIGGER relation_truncate;

CREATE TRIGGER relation_version BEFORE UPDATE ON public.relation FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.relation ENABLE ALWAYS TRIGGER relation_version;

CREATE CONSTRAINT TRIGGER release_event AFTER INSERT OR DELETE OR UPDATE ON public.release DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_release_event();

ALTER TABLE public.release ENABLE ALWAYS TRIGGER release_event;

CREATE TRIGGER release_identity BEFORE UPDATE OF id ON public.release FOR EACH ROW WHEN ((old.id IS DISTINCT FROM new.id)) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.release ENABLE ALWAYS TRIGGER release_identity;

CREATE TRIGGER release_revision_identity BEFORE UPDATE OF release_id, revision ON public.release_revision FOR EACH ROW WHEN (((old.release_id IS DISTINCT FROM new.release_id) OR (old.revision IS DISTINCT FROM new.revision))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.release_revision ENABLE ALWAYS TRIGGER release_revision_identity;

CREATE TRIGGER release_revision_sealed AFTER DELETE ON public.release_revision FOR EACH ROW EXECUTE FUNCTION public.delete_sealed();

CREATE CONSTRAINT TRIGGER release_revision_superseded AFTER UPDATE ON public.release_revision DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((old.state)::text <> 'SUPERSEDED'::text) AND ((new.state)::text = 'SUPERSEDED'::text))) EXECUTE FUNCTION public.check_superseded();

CREATE TRIGGER release_revision_transition BEFORE UPDATE OF state ON public.release_revision FOR EACH ROW EXECUTE FUNCTION public.check_release_transition();

CREATE TRIGGER release_revision_version BEFORE UPDATE ON public.release_revision FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.release_revision ENABLE ALWAYS TRIGGER release_revision_version;

CREATE TRIGGER release_sealed AFTER DELETE ON public.release FOR EACH ROW EXECUTE FUNCTION public.delete_sealed();

CREATE TRIGGER release_transition BEFORE UPDATE OF state ON public.release FOR EACH ROW EXECUTE FUNCTION public.check_release_transition();

CREATE TRIGGER release_truncate BEFORE TRUNCATE ON public.release FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.release ENABLE ALWAYS TRIGGER release_truncate;

CREATE TRIGGER release_version BEFORE UPDATE ON public.release FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.release ENABLE ALWAYS TRIGGER release_version;

CREATE CONSTRAINT TRIGGER secret_event AFTER INSERT OR DELETE OR UPDATE ON public.secret DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_secret_event();

ALTER TABLE public.secret ENABLE ALWAYS TRIGGER secret_event;

CREATE TRIGGER secret_identity BEFORE UPDATE OF id, namespace, name, application_id, unit_id, owner ON public.secret FOR EACH ROW WHEN (((((((old.id IS DISTINCT FROM new.id) OR ((old.namespace)::text IS DISTINCT FROM (new.namespace)::text)) OR (old.name IS DISTINCT FROM new.name)) OR (old.application_id IS DISTINCT FROM new.application_id)) OR (old.unit_id IS DISTINCT FROM new.unit_id)) OR (old.owner IS DISTINCT FROM new.owner))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.secret ENABLE ALWAYS TRIGGER secret_identity;

CREATE TRIGGER secret_revision_sealed AFTER DELETE ON public.secret_revision FOR EACH ROW EXECUTE FUNCTION public.delete_sealed();

CREATE TRIGGER secret_truncate BEFORE TRUNCATE ON public.secret FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.secret ENABLE ALWAYS TRIGGER secret_truncate;

CREATE TRIGGER secret_version BEFORE UPDATE ON public.secret FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.secret ENABLE ALWAYS TRIGGER secret_version;

CREATE CONSTRAINT TRIGGER step_event AFTER INSERT OR DELETE OR UPDATE ON public.step DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_step_event();

ALTER TABLE public.step ENABLE ALWAYS TRIGGER step_event;

CREATE TRIGGER step_identity BEFORE UPDATE OF id, node_id, operation_id, release_id ON public.step FOR EACH ROW WHEN (((((old.id IS DISTINCT FROM new.id) OR (old.node_id IS DISTINCT FROM new.node_id)) OR (old.operation_id IS DISTINCT FROM new.operation_id)) OR (old.release_id IS DISTINCT FROM new.release_id))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.step ENABLE ALWAYS TRIGGER step_identity;

CREATE TRIGGER step_transition BEFORE UPDATE OF state ON public.step FOR EACH ROW EXECUTE FUNCTION public.check_release_transition();

CREATE TRIGGER step_truncate BEFORE TRUNCATE ON public.step FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.step ENABLE ALWAYS TRIGGER step_truncate;

CREATE TRIGGER step_version BEFORE UPDATE ON public.step FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.step ENABLE ALWAYS TRIGGER step_version;

CREATE CONSTRAINT TRIGGER storage_event AFTER INSERT OR DELETE OR UPDATE ON public.storage DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_storage_event();

ALTER TABLE public.storage ENABLE ALWAYS TRIGGER storage_event;

CREATE TRIGGER storage_identity BEFORE UPDATE OF id, namespace, name ON public.storage FOR EACH ROW WHEN ((((old.id IS DISTINCT FROM new.id) OR ((old.namespace)::text IS DISTINCT FROM (new.namespace)::text)) OR (old.name IS DISTINCT FROM new.name))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.storage ENABLE ALWAYS TRIGGER storage_identity;

CREATE TRIGGER storage_truncate BEFORE TRUNCATE ON public.storage FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.storage ENABLE ALWAYS TRIGGER storage_truncate;

CREATE TRIGGER storage_version BEFORE UPDATE ON public.storage FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.storage ENABLE ALWAYS TRIGGER storage_version;

CREATE CONSTRAINT TRIGGER task_event AFTER INSERT OR UPDATE ON public.task DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_task_event();

ALTER TABLE public.task ENABLE ALWAYS TRIGGER task_event;

CREATE TRIGGER task_identity BEFORE UPDATE OF id, unit_id, application_id, kind, name ON public.task FOR EACH ROW WHEN ((((((old.id IS DISTINCT FROM new.id) OR (old.unit_id IS DISTINCT FROM new.unit_id)) OR (old.application_id IS DISTINCT FROM new.application_id)) OR (old.kind IS DISTINCT FROM new.kind)) OR (old.name IS DISTINCT FROM new.name))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.task ENABLE ALWAYS TRIGGER task_identity;

CREATE TRIGGER task_transition BEFORE INSERT OR UPDATE OF state ON public.task FOR EACH ROW EXECUTE FUNCTION public.check_task_transition();

CREATE TRIGGER task_truncate BEFORE TRUNCATE ON public.task FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.task ENABLE ALWAYS TRIGGER task_truncate;

CREATE TRIGGER task_version BEFORE UPDATE ON public.task FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.task ENABLE ALWAYS TRIGGER task_version;

CREATE CONSTRAINT TRIGGER template_event AFTER INSERT OR DELETE OR UPDATE ON public.template DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_template_event();

ALTER TABLE public.template ENABLE ALWAYS TRIGGER template_event;

CREATE TRIGGER template_identity BEFORE UPDATE OF id ON public.template FOR EACH ROW WHEN ((old.id IS DISTINCT FROM new.id)) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.template ENABLE ALWAYS TRIGGER template_identity;

CREATE TRIGGER template_truncate BEFORE TRUNCATE ON public.template FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.template ENABLE ALWAYS TRIGGER template_truncate;

CREATE TRIGGER template_version BEFORE UPDATE ON public.template FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.template ENABLE ALWAYS TRIGGER template_version;

CREATE CONSTRAINT TRIGGER unit_event AFTER INSERT OR DELETE OR UPDATE ON public.unit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_unit_event();

ALTER TABLE public.unit ENABLE ALWAYS TRIGGER unit_event;

CREATE CONSTRAINT TRIGGER unit_event_event AFTER INSERT OR UPDATE ON public.unit_event DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_unit_event_event();

ALTER TABLE public.unit_event ENABLE ALWAYS TRIGGER unit_event_event;

CREATE TRIGGER unit_event_identity BEFORE UPDATE OF id, unit_id, application_id, ordinal, kind ON public.unit_event FOR EACH ROW WHEN ((((((old.id IS DISTINCT FROM new.id) OR (old.unit_id IS DISTINCT FROM new.unit_id)) OR (old.application_id IS DISTINCT FROM new.application_id)) OR (old.ordinal IS DISTINCT FROM new.ordinal)) OR (old.kind IS DISTINCT FROM new.kind))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.unit_event ENABLE ALWAYS TRIGGER unit_event_identity;

CREATE TRIGGER unit_event_transition BEFORE INSERT OR UPDATE OF state, attempt ON public.unit_event FOR EACH ROW EXECUTE FUNCTION public.check_unit_event_transition();

CREATE TRIGGER unit_event_truncate BEFORE TRUNCATE ON public.unit_event FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.unit_event ENABLE ALWAYS TRIGGER unit_event_truncate;

CREATE TRIGGER unit_event_version BEFORE UPDATE ON public.unit_event FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.unit_event ENABLE ALWAYS TRIGGER unit_event_version;

CREATE TRIGGER unit_identity BEFORE UPDATE OF id, application_id, namespace, number, name ON public.unit FOR EACH ROW WHEN ((((((old.id IS DISTINCT FROM new.id) OR (old.application_id IS DISTINCT FROM new.application_id)) OR (old.namespace IS DISTINCT FROM new.namespace)) OR (old.number IS DISTINCT FROM new.number)) OR ((old.name)::text IS DISTINCT FROM (new.name)::text))) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.unit ENABLE ALWAYS TRIGGER unit_identity;

CREATE TRIGGER unit_transition BEFORE UPDATE OF life, phase ON public.unit FOR EACH ROW EXECUTE FUNCTION public.check_unit_transition();

CREATE TRIGGER unit_truncate BEFORE TRUNCATE ON public.unit FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.unit ENABLE ALWAYS TRIGGER unit_truncate;

CREATE TRIGGER unit_version BEFORE UPDATE ON public.unit FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.unit ENABLE ALWAYS TRIGGER unit_version;

CREATE CONSTRAINT TRIGGER workflow_event AFTER INSERT OR DELETE OR UPDATE ON public.workflow DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_workflow_event();

ALTER TABLE public.workflow ENABLE ALWAYS TRIGGER workflow_event;

CREATE TRIGGER workflow_identity BEFORE UPDATE OF id ON public.workflow FOR EACH ROW WHEN ((old.id IS DISTINCT FROM new.id)) EXECUTE FUNCTION public.refuse_identity();

ALTER TABLE public.workflow ENABLE ALWAYS TRIGGER workflow_identity;

CREATE TRIGGER workflow_machines AFTER UPDATE OF state, deleted_at ON public.workflow FOR EACH ROW WHEN (((((old.state)::text = 'RUNNING'::text) AND (old.deleted_at IS NULL)) <> (((new.state)::text = 'RUNNING'::text) AND (new.deleted_at IS NULL)))) EXECUTE FUNCTION public.hold_machines();

CREATE TRIGGER workflow_size BEFORE INSERT OR UPDATE OF devices, data ON public.workflow FOR EACH ROW EXECUTE FUNCTION public.check_workflow_size();

CREATE TRIGGER workflow_transition BEFORE UPDATE OF state ON public.workflow FOR EACH ROW EXECUTE FUNCTION public.check_transition();

CREATE TRIGGER workflow_truncate BEFORE TRUNCATE ON public.workflow FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();

ALTER TABLE public.workflow ENABLE ALWAYS TRIGGER workflow_truncate;

CREATE TRIGGER workflow_version BEFORE UPDATE ON public.workflow FOR EACH ROW EXECUTE FUNCTION public.count_version();

ALTER TABLE public.workflow ENABLE ALWAYS TRIGGER workflow_version;

ALTER TABLE ONLY public.action
    ADD CONSTRAINT action_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES public.workflow(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.application
    ADD CONSTRAINT application_charm_known FOREIGN KEY (charm) REFERENCES public.charm(digest);

ALTER TABLE ONLY public.application
    ADD CONSTRAINT application_namespace_known FOREIGN KEY (namespace) REFERENCES public.namespace(name);

ALTER TABLE ONLY public.charm_chunk
    ADD CONSTRAINT charm_chunk_charm_id_fkey FOREIGN KEY (charm_id) REFERENCES public.charm(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.deferred_notice
    ADD CONSTRAINT deferred_notice_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.hardware_address
    ADD CONSTRAINT hardware_address_hardware_id_fkey FOREIGN KEY (hardware_id) REFERENCES public.hardware(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.lifecycle
    ADD CONSTRAINT lifecycle_operation_id_fkey FOREIGN KEY (operation_id) REFERENCES public.operation(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.log_line
    ADD CONSTRAINT log_line_action_id_fkey FOREIGN KEY (action_id) REFERENCES public.action(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.machine_hold
    ADD CONSTRAINT machine_hold_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES public.workflow(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.node
    ADD CONSTRAINT node_operation_id_fkey FOREIGN KEY (operation_id) REFERENCES public.operation(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.operation
    ADD CONSTRAINT operation_chart_known FOREIGN KEY (chart_id) REFERENCES public.chart(id);

ALTER TABLE ONLY public.operation
    ADD CONSTRAINT operation_release_id_fkey FOREIGN KEY (release_id) REFERENCES public.release(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.port
    ADD CONSTRAINT port_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.relation_bag
    ADD CONSTRAINT relation_bag_relation_id_fkey FOREIGN KEY (relation_id) REFERENCES public.relation(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.relation_end
    ADD CONSTRAINT relation_end_application_known FOREIGN KEY (application_id) REFERENCES public.application(id);

ALTER TABLE ONLY public.relation_end
    ADD CONSTRAINT relation_end_relation_id_fkey FOREIGN KEY (relation_id) REFERENCES public.relation(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.relation_member
    ADD CONSTRAINT relation_member_relation_id_fkey FOREIGN KEY (relation_id) REFERENCES public.relation(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.relation_member
    ADD CONSTRAINT relation_member_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.relation
    ADD CONSTRAINT relation_namespace_known FOREIGN KEY (namespace) REFERENCES public.namespace(name);

ALTER TABLE ONLY public.release_resource
    ADD CONSTRAINT release_resource_release_id_fkey FOREIGN KEY (release_id) REFERENCES public.release(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.release_revision
    ADD CONSTRAINT release_revision_chart_known FOREIGN KEY (chart_id) REFERENCES public.chart(id);

ALTER TABLE ONLY public.release_revision
    ADD CONSTRAINT release_revision_release_id_fkey FOREIGN KEY (release_id) REFERENCES public.release(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_application_known FOREIGN KEY (application_id) REFERENCES public.application(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secret_grant
    ADD CONSTRAINT secret_grant_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.application(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secret_grant
    ADD CONSTRAINT secret_grant_relation_id_fkey FOREIGN KEY (relation_id) REFERENCES public.relation(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secret_grant
    ADD CONSTRAINT secret_grant_secret_id_fkey FOREIGN KEY (secret_id) REFERENCES public.secret(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secret_grant
    ADD CONSTRAINT secret_grant_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_namespace_known FOREIGN KEY (namespace) REFERENCES public.namespace(name);

ALTER TABLE ONLY public.secret_reader
    ADD CONSTRAINT secret_reader_secret_id_fkey FOREIGN KEY (secret_id) REFERENCES public.secret(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secret_reader
    ADD CONSTRAINT secret_reader_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secret_revision
    ADD CONSTRAINT secret_revision_secret_id_fkey FOREIGN KEY (secret_id) REFERENCES public.secret(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_unit_known FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.self_enrolment
    ADD CONSTRAINT self_enrolment_hardware_id_fkey FOREIGN KEY (hardware_id) REFERENCES public.hardware(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.step_log
    ADD CONSTRAINT step_log_step_id_fkey FOREIGN KEY (step_id) REFERENCES public.step(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.step
    ADD CONSTRAINT step_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.node(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.storage
    ADD CONSTRAINT storage_application_known FOREIGN KEY (application_id) REFERENCES public.application(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.storage
    ADD CONSTRAINT storage_namespace_known FOREIGN KEY (namespace) REFERENCES public.namespace(name);

ALTER TABLE ONLY public.storage
    ADD CONSTRAINT storage_unit_known FOREIGN KEY (unit_id) REFERENCES public.unit(id);

ALTER TABLE ONLY public.task_line
    ADD CONSTRAINT task_line_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.task(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.unit
    ADD CONSTRAINT unit_application_known FOREIGN KEY (application_id) REFERENCES public.application(id);

ALTER TABLE ONLY public.unit
    ADD CONSTRAINT unit_charm_known FOREIGN KEY (charm) REFERENCES public.charm(digest);

ALTER TABLE ONLY public.unit
    ADD CONSTRAINT unit_charm_seen_known FOREIGN KEY (charm_seen) REFERENCES public.charm(digest);

ALTER TABLE ONLY public.unit_event
    ADD CONSTRAINT unit_event_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.unit_log
    ADD CONSTRAINT unit_log_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.unit_member
    ADD CONSTRAINT unit_member_known FOREIGN KEY (member_id) REFERENCES public.unit(id);

ALTER TABLE ONLY public.unit_member
    ADD CONSTRAINT unit_member_unit_id_relation_id_fkey FOREIGN KEY (unit_id, relation_id) REFERENCES public.unit_relation(unit_id, relation_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.unit_relation
    ADD CONSTRAINT unit_relation_relation_id_fkey FOREIGN KEY (relation_id) REFERENCES public.relation(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.unit_relation
    ADD CONSTRAINT unit_relation_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.unit_state
    ADD CONSTRAINT unit_state_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES public.unit(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.workflow_data
    ADD CONSTRAINT workflow_data_workflow_id_fkey FOREIGN KEY (workflow_id) REFERENCES public.workflow(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.workflow
    ADD CONSTRAINT workflow_template_id_fkey FOREIGN KEY (template_id) REFERENCES public.template(id);

ALTER TABLE public.bell_secret ENABLE ROW LEVEL SECURITY;
