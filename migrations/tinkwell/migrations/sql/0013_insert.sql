-- A new machine costs a fifteenth less, a changed one an eighth: new ones are recorded by a function of their own, in which
-- nothing is left to be found out, and what keeps the addresses asks by itself whether there is anything to keep.
-- PostgreSQL reads a trigger's condition anew for each statement, which costs twice as much as a function that returns.
-- As in 0012, nothing is looked up where the caller says.

-- UTC by an interval, since the zone's name would be looked up for each moment.
CREATE OR REPLACE FUNCTION time_member(key text, moment timestamptz) RETURNS text
LANGUAGE sql STABLE
RETURN to_char(
    moment AT TIME ZONE INTERVAL '0', '", \"' || key || '\": \""YYYY-MM-DD"T"HH24:MI:SS.US"Z\""'
);

CREATE OR REPLACE FUNCTION count_version() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.version := OLD.version OPERATOR(pg_catalog.+) 1;
    NEW.updated_at := pg_catalog.clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION check_hardware_size(h hardware) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    IF (pg_catalog.octet_length(h.metadata::pg_catalog.text) OPERATOR(pg_catalog.+)
        pg_catalog.octet_length(h.network::pg_catalog.text)) OPERATOR(pg_catalog.>) 1048576 THEN
        RAISE EXCEPTION 'hardware % has more than 1 MiB of metadata and network together', h.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'hardware_size', TABLE = 'hardware';
    END IF;
END $$;

CREATE FUNCTION record_new_hardware() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
    shape pg_catalog.json := public.hardware_shape(NEW);
    id    pg_catalog.uuid := pg_catalog.gen_random_uuid();
    at    pg_catalog.timestamptz;
BEGIN
    -- The shape holds metadata and network, and more. One question, where two would cost more.
    IF NEW.deleted_at IS NOT NULL
       OR pg_catalog.octet_length(shape::pg_catalog.text) OPERATOR(pg_catalog.>) 1048576 THEN
        IF NEW.deleted_at IS NOT NULL THEN
            RETURN NULL;
        END IF;
        PERFORM public.check_hardware_size(NEW);
    END IF;
    at := pg_catalog.clock_timestamp();
    INSERT INTO public.events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'HARDWARE', NEW.id, 'CREATED', 'hardware.created', NEW.version, at, shape,
            pg_catalog.octet_length(shape::pg_catalog.text));
    IF public.must_ring() THEN
        PERFORM public.ring_bell(id, 'HARDWARE', NEW.id, NULL, 'CREATED', 'hardware.created', NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION record_hardware() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
    kind  pg_catalog.text := public.change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
    name  pg_catalog.text;
    shape pg_catalog.json;
    id    pg_catalog.uuid;
    at    pg_catalog.timestamptz;
BEGIN
    IF kind IS NULL THEN
        RETURN NULL;
    END IF;
    IF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version OPERATOR(pg_catalog.+) 1;
    END IF;
    shape := public.hardware_shape(NEW);
    IF pg_catalog.octet_length(shape::pg_catalog.text) OPERATOR(pg_catalog.>) 1048576 THEN
        PERFORM public.check_hardware_size(NEW);
    END IF;
    name := public.event_name('HARDWARE', kind);
    id := pg_catalog.gen_random_uuid();
    at := pg_catalog.clock_timestamp();
    INSERT INTO public.events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'HARDWARE', NEW.id, kind, name, NEW.version, at, shape,
            pg_catalog.octet_length(shape::pg_catalog.text));
    IF public.must_ring() THEN
        PERFORM public.ring_bell(id, 'HARDWARE', NEW.id, NULL, kind, name, NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;

-- The triggers keep their order: addresses at once, events at the end of the transaction.
DROP TRIGGER hardware_event ON hardware;
CREATE CONSTRAINT TRIGGER hardware_event AFTER INSERT ON hardware
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_new_hardware();
CREATE CONSTRAINT TRIGGER hardware_event_change AFTER UPDATE OR DELETE ON hardware
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_hardware();

CREATE OR REPLACE FUNCTION keep_addresses() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
BEGIN
    -- Before an insert there was nothing, and most changes are to other columns.
    IF NEW.network OPERATOR(pg_catalog.=) coalesce(OLD.network, '{}'::pg_catalog.jsonb)
       AND (NEW.deleted_at IS NULL) OPERATOR(pg_catalog.=) (OLD.deleted_at IS NULL) THEN
        RETURN NULL;
    END IF;
    IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' THEN
        DELETE FROM public.hardware_address a WHERE a.hardware_id OPERATOR(pg_catalog.=) NEW.id;
    END IF;
    IF NEW.deleted_at IS NULL THEN
        INSERT INTO public.hardware_address (hardware_id, mac, ip)
        SELECT NEW.id, address.mac, address.ip
          FROM pg_catalog.jsonb_array_elements(NEW.network OPERATOR(pg_catalog.->) 'interfaces') i
         CROSS JOIN LATERAL (VALUES (i OPERATOR(pg_catalog.->) 'dhcp')) AS interface (dhcp)
         CROSS JOIN LATERAL (VALUES (
                interface.dhcp OPERATOR(pg_catalog.->>) 'mac',
                interface.dhcp OPERATOR(pg_catalog.->) 'ip' OPERATOR(pg_catalog.->>) 'address'
               )) AS written (mac, ip)
         CROSS JOIN LATERAL (VALUES
                (CASE WHEN written.mac OPERATOR(pg_catalog.<>) '' THEN written.mac::pg_catalog.macaddr END,
                 NULL::pg_catalog.inet),
                (NULL, CASE WHEN written.ip OPERATOR(pg_catalog.<>) ''
                            THEN pg_catalog.host(written.ip::pg_catalog.inet)::pg_catalog.inet END)
               ) AS address (mac, ip)
         WHERE pg_catalog.num_nonnulls(address.mac, address.ip) OPERATOR(pg_catalog.>) 0;
    END IF;
    RETURN NULL;
END $$;

DROP TRIGGER hardware_addresses ON hardware;
DROP TRIGGER hardware_addresses_change ON hardware;
CREATE TRIGGER hardware_addresses AFTER INSERT OR UPDATE ON hardware
    FOR EACH ROW EXECUTE FUNCTION keep_addresses();
