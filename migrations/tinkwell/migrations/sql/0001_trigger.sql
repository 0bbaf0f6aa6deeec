-- What happens around each change, whoever makes it: versions count, states move legally, addresses stay unique, and the
-- change becomes an event. Functions are SECURITY DEFINER where they write what no user may write directly.

CREATE FUNCTION count_version() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.version := OLD.version + 1;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;

-- The same tables as in tinkwell.core.workflow.lifecycle; a test holds them together.
CREATE FUNCTION check_transition() RETURNS trigger
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

CREATE FUNCTION check_workflow_size() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF octet_length(NEW.devices::text) + octet_length(NEW.data) <= 3145728 THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'workflow % has more than 3 MiB of devices and data together', NEW.id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'workflow_size', TABLE = TG_TABLE_NAME;
END $$;

CREATE FUNCTION keep_addresses() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM hardware_address WHERE hardware_id = NEW.id;
    END IF;
    IF NEW.deleted_at IS NULL THEN
        INSERT INTO hardware_address (hardware_id, mac, ip)
        SELECT NEW.id, address.mac, address.ip
          FROM jsonb_array_elements(NEW.network -> 'interfaces') i
         CROSS JOIN LATERAL (VALUES
                (nullif(i -> 'dhcp' ->> 'mac', '')::macaddr, NULL::inet),
                (NULL, host(nullif(i -> 'dhcp' -> 'ip' ->> 'address', '')::inet)::inet)
               ) AS address (mac, ip)
         WHERE num_nonnulls(address.mac, address.ip) > 0;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION refuse_truncate() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'TRUNCATE of % would lose events; use DELETE', TG_TABLE_NAME USING ERRCODE = 'feature_not_supported';
END $$;

-- CREATED, UPDATED, DELETED, or nothing for a change of what was and stays deleted.
CREATE FUNCTION change_type(operation text, was_deleted timestamptz, is_deleted timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE operation
        WHEN 'INSERT' THEN CASE WHEN is_deleted IS NULL THEN 'CREATED' END
        WHEN 'DELETE' THEN CASE WHEN was_deleted IS NULL THEN 'DELETED' END
        ELSE CASE
            WHEN was_deleted IS NULL AND is_deleted IS NULL THEN 'UPDATED'
            WHEN was_deleted IS NULL THEN 'DELETED'
            WHEN is_deleted IS NULL THEN 'CREATED'
        END
    END
$$;

-- hardware.created, workflow.timeout, action.started …
CREATE FUNCTION event_name(resource_type text, event_type text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$ SELECT lower(resource_type) || '.' || lower(replace(event_type, resource_type || '_', '')) $$;

-- Events that no change of a row stands behind. Each call is a transaction of its own, so that its revision is committed
-- as soon as it is drawn. A machine's phone call carries the machine's own state.
CREATE FUNCTION publish_event(name text, resource_id uuid, data json, actor text)
RETURNS TABLE (id uuid, revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    drawn bigint;
BEGIN
    PERFORM set_config('tinkwell.actor', actor, true);
    drawn := record_event('CUSTOM', resource_id, 'CUSTOM', name, 0, data);
    RETURN QUERY SELECT e.id, e.revision FROM events e WHERE e.revision = drawn;
END $$;

CREATE FUNCTION phone_home(machine uuid, call jsonb, actor text) RETURNS TABLE (revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM set_config('tinkwell.actor', actor, true);
    RETURN QUERY
    SELECT record_event('HARDWARE', h.id, 'HARDWARE_PHONE_HOME', 'hardware.phone_home', h.version,
                        (hardware_shape(h)::jsonb || jsonb_build_object('phone_home', call))::json)
      FROM hardware h WHERE h.id = machine AND h.deleted_at IS NULL;
END $$;
REVOKE ALL ON FUNCTION publish_event, phone_home FROM PUBLIC;

CREATE TRIGGER hardware_version BEFORE UPDATE ON hardware FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER template_version BEFORE UPDATE ON template FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER workflow_version BEFORE UPDATE ON workflow FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER action_version BEFORE UPDATE ON action FOR EACH ROW EXECUTE FUNCTION count_version();

-- Not as a check of the table, which would read the whole template again with each change of the state.
CREATE TRIGGER workflow_size BEFORE INSERT OR UPDATE OF devices, data ON workflow
    FOR EACH ROW EXECUTE FUNCTION check_workflow_size();

CREATE TRIGGER workflow_transition BEFORE UPDATE OF state ON workflow FOR EACH ROW EXECUTE FUNCTION check_transition();
CREATE TRIGGER action_transition BEFORE UPDATE OF state ON action FOR EACH ROW EXECUTE FUNCTION check_transition();

-- Only where there is something to keep: most changes are to other columns.
CREATE TRIGGER hardware_addresses AFTER INSERT ON hardware FOR EACH ROW
    WHEN (NEW.network <> '{}') EXECUTE FUNCTION keep_addresses();
CREATE TRIGGER hardware_addresses_change AFTER UPDATE ON hardware FOR EACH ROW
    WHEN (NEW.network <> OLD.network OR NEW.deleted_at IS DISTINCT FROM OLD.deleted_at) EXECUTE FUNCTION keep_addresses();

CREATE TRIGGER hardware_truncate BEFORE TRUNCATE ON hardware EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER template_truncate BEFORE TRUNCATE ON template EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER workflow_truncate BEFORE TRUNCATE ON workflow EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER action_truncate BEFORE TRUNCATE ON action EXECUTE FUNCTION refuse_truncate();

-- Deferred: the revision is drawn while the transaction commits, so a gap in the log lives as long as one commit.
CREATE CONSTRAINT TRIGGER hardware_event AFTER INSERT OR UPDATE OR DELETE ON hardware
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_hardware();
CREATE CONSTRAINT TRIGGER template_event AFTER INSERT OR UPDATE OR DELETE ON template
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_template();
CREATE CONSTRAINT TRIGGER workflow_event AFTER INSERT OR UPDATE OR DELETE ON workflow
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_workflow();
CREATE CONSTRAINT TRIGGER action_event AFTER INSERT OR UPDATE OR DELETE ON action
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_action();
