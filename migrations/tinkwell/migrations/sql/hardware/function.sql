-- What happens around each change of a machine.

-- What no longer exists is told as it was, one version on.
CREATE OR REPLACE FUNCTION write_hardware_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- Keeps the addresses of a machine that is not deleted, so that no other one takes them.
CREATE OR REPLACE FUNCTION keep_addresses() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- A machine's phone call, whose event carries the machine's own state.
CREATE OR REPLACE FUNCTION phone_home(machine uuid, call jsonb, actor text) RETURNS TABLE (revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

REVOKE ALL ON FUNCTION write_hardware_event, keep_addresses, phone_home FROM PUBLIC;
