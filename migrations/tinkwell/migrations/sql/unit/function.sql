-- What happens around each change of applications and of what belongs to them. What no longer exists is told as it was,
-- one version on.

-- The same tables as in tinkwell.core.unit; a test holds them together. Lives and phases go one way.
CREATE OR REPLACE FUNCTION check_unit_transition() RETURNS trigger
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

-- A final state is final. What runs again is a new attempt.
CREATE OR REPLACE FUNCTION check_unit_event_transition() RETURNS trigger
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

-- Each configuration, and what a bag says, has a number of its own, whoever changes them. These run as who makes the change,
-- whose search_path could have other operators.
CREATE OR REPLACE FUNCTION count_config_version() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF NEW.config::text OPERATOR(pg_catalog.<>) OLD.config::text THEN
        NEW.config_version := OLD.config_version OPERATOR(pg_catalog.+) 1;
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION count_bag_version() RETURNS trigger
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

-- What allots numbers makes no event.
CREATE OR REPLACE FUNCTION write_namespace_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

CREATE OR REPLACE FUNCTION write_charm_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

CREATE OR REPLACE FUNCTION write_application_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- What a unit was told makes no event, for that is told by its events.
CREATE OR REPLACE FUNCTION write_unit_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- A unit's events are named as the unit hears them, and what becomes of one that is not committed is added to that:
-- `unit.db-relation-joined`, `unit.install.failed`.
CREATE OR REPLACE FUNCTION write_unit_event_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

CREATE OR REPLACE FUNCTION write_relation_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- Tells which keys of a bag have changed, and nothing of what they say. What goes with its relation is not told.
CREATE OR REPLACE FUNCTION write_relation_bag_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

CREATE OR REPLACE FUNCTION write_storage_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- The content of a secret stands in no row that is told: an event has what is known of it without that. Each change of the
-- row is told, for who may read what is changed without one.
CREATE OR REPLACE FUNCTION write_secret_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- A final state is final, and a task runs at most once.
CREATE OR REPLACE FUNCTION check_task_transition() RETURNS trigger
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

-- What a task was given, and what it gives back, is not told.
CREATE OR REPLACE FUNCTION write_task_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

REVOKE ALL ON FUNCTION
    check_unit_transition, check_unit_event_transition, count_config_version, count_bag_version, write_namespace_event,
    write_charm_event, write_application_event, write_unit_event, write_unit_event_event, write_relation_event,
    write_relation_bag_event, write_storage_event, write_secret_event, check_task_transition, write_task_event
FROM PUBLIC;
