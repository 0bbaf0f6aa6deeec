DROP TRIGGER hardware_event ON hardware;
DROP TRIGGER hardware_event_change ON hardware;
DROP TRIGGER hardware_addresses ON hardware;
DROP FUNCTION record_new_hardware;

-- As of 0001.
CREATE OR REPLACE FUNCTION count_version() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.version := OLD.version + 1;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION keep_addresses() RETURNS trigger
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
CREATE TRIGGER hardware_addresses AFTER INSERT ON hardware FOR EACH ROW
    WHEN (NEW.network <> '{}') EXECUTE FUNCTION keep_addresses();
CREATE TRIGGER hardware_addresses_change AFTER UPDATE ON hardware FOR EACH ROW
    WHEN (NEW.network <> OLD.network OR NEW.deleted_at IS DISTINCT FROM OLD.deleted_at) EXECUTE FUNCTION keep_addresses();
CREATE CONSTRAINT TRIGGER hardware_event AFTER INSERT OR UPDATE OR DELETE ON hardware
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_hardware();

-- As of 0012.
CREATE OR REPLACE FUNCTION time_member(key text, moment timestamptz) RETURNS text
LANGUAGE sql STABLE
RETURN to_char(moment AT TIME ZONE 'UTC', '", \"' || key || '\": \""YYYY-MM-DD"T"HH24:MI:SS.US"Z\""');

CREATE OR REPLACE FUNCTION record_hardware() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
    kind  pg_catalog.text := 'CREATED';
    name  pg_catalog.text := 'hardware.created';
    shape pg_catalog.json;
    size  pg_catalog.int4;
    id    pg_catalog.uuid;
    at    pg_catalog.timestamptz;
BEGIN
    IF TG_OP OPERATOR(pg_catalog.<>) 'INSERT' OR NEW.deleted_at IS NOT NULL THEN
        kind := public.change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
        IF kind IS NULL THEN
            RETURN NULL;
        END IF;
        name := public.event_name('HARDWARE', kind);
        IF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
            NEW := OLD;
            NEW.version := OLD.version OPERATOR(pg_catalog.+) 1;
        END IF;
    END IF;
    shape := public.hardware_shape(NEW);
    size := pg_catalog.octet_length(shape::pg_catalog.text);
    -- The shape holds both, and more.
    IF size OPERATOR(pg_catalog.>) 1048576
       AND (pg_catalog.octet_length(NEW.metadata::pg_catalog.text) OPERATOR(pg_catalog.+)
            pg_catalog.octet_length(NEW.network::pg_catalog.text)) OPERATOR(pg_catalog.>) 1048576 THEN
        RAISE EXCEPTION 'hardware % has more than 1 MiB of metadata and network together', NEW.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'hardware_size', TABLE = TG_TABLE_NAME;
    END IF;
    id := pg_catalog.gen_random_uuid();
    at := pg_catalog.clock_timestamp();
    INSERT INTO public.events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'HARDWARE', NEW.id, kind, name, NEW.version, at, shape, size);
    IF public.must_ring() THEN
        PERFORM public.ring_bell(id, 'HARDWARE', NEW.id, NULL, kind, name, NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;
DROP FUNCTION check_hardware_size;
