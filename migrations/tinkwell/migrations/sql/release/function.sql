-- What happens around each change of releases, operations, nodes and steps. What no longer exists is told as it was, one
-- version on; what goes together with what it belongs to is not told by itself.

-- The same tables as in tinkwell.core.release.lifecycle; a test holds them together.
CREATE OR REPLACE FUNCTION check_release_transition() RETURNS trigger
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

-- A revision that is no longer DEPLOYED has been followed by another one: there is an index that admits one of them, so
-- whichever is there when the transaction ends has come with it.
CREATE OR REPLACE FUNCTION check_superseded() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- An operation that ends before it has a plan puts its release back to where it was, which is neither a deployment nor a
-- failure of the release; a first installation has nothing to go back to.
CREATE OR REPLACE FUNCTION write_release_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- Phases, counters and leases make no event.
CREATE OR REPLACE FUNCTION write_operation_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

CREATE OR REPLACE FUNCTION write_node_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- Only what may change something is told. A step that is PENDING for the first time is what its node is going to do.
CREATE OR REPLACE FUNCTION write_step_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

REVOKE ALL ON FUNCTION
    check_release_transition, check_superseded, write_release_event, write_operation_event, write_node_event,
    write_step_event
FROM PUBLIC;
