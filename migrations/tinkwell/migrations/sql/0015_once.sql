-- A new machine is recorded by one statement, where it was five: each that plpgsql runs is prepared anew for each transaction.
-- So the insert itself looks whether to ring, which is after it has locked the log, and that is what a sleeper relies on. Where
-- it must, or where there is something else to be seen to, it inserts nothing, and the function goes the long way. After a crash of
-- PostgreSQL nobody has said whether to ring (null), and nobody sleeps.

-- A text until it is stored: a json becomes one again to be measured.
CREATE FUNCTION hardware_text(h hardware) RETURNS text
LANGUAGE sql STABLE
RETURN concat(
    '{"id": "', h.id, '", "version": ', h.version, ', "metadata": ', h.metadata, ', "network": ', h.network,
    time_member('created_at', h.created_at), time_member('updated_at', h.updated_at),
    time_member('deleted_at', h.deleted_at), '}'
);

CREATE OR REPLACE FUNCTION hardware_shape(h hardware) RETURNS json
LANGUAGE sql STABLE
RETURN hardware_text(h)::json;

CREATE OR REPLACE FUNCTION record_new_hardware() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
    shape pg_catalog.text := public.hardware_text(NEW);
    id    pg_catalog.uuid;
    at    pg_catalog.timestamptz;
BEGIN
    -- The number is drawn for a row that is inserted, not for one that is not.
    INSERT INTO public.events (resource_type, resource_id, event_type, name, version, data, size)
    SELECT 'HARDWARE', NEW.id, 'CREATED', 'hardware.created', NEW.version, shape::pg_catalog.json,
           pg_catalog.octet_length(shape)
     WHERE public.must_ring() IS NOT TRUE
       AND NEW.deleted_at IS NULL
       AND pg_catalog.octet_length(shape) OPERATOR(pg_catalog.<=) 1048576;
    IF FOUND OR NEW.deleted_at IS NOT NULL THEN
        RETURN NULL;
    END IF;
    -- The shape holds metadata and network, and more.
    IF pg_catalog.octet_length(shape) OPERATOR(pg_catalog.>) 1048576 THEN
        PERFORM public.check_hardware_size(NEW);
    END IF;
    id := pg_catalog.gen_random_uuid();
    at := pg_catalog.clock_timestamp();
    INSERT INTO public.events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'HARDWARE', NEW.id, 'CREATED', 'hardware.created', NEW.version, at, shape::pg_catalog.json,
            pg_catalog.octet_length(shape));
    -- It looks by itself whether anybody sleeps.
    PERFORM public.ring_bell(id, 'HARDWARE', NEW.id, NULL, 'CREATED', 'hardware.created', NEW.version, at,
                             shape::pg_catalog.json);
    RETURN NULL;
END $$;

-- Addresses: what an insert asks is less than what an update asks, and both write them the same way. Most new machines have none,
-- which is asked by itself, since each part of a question is prepared anew, too.
CREATE FUNCTION write_addresses(machine uuid, network jsonb) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO public.hardware_address (hardware_id, mac, ip)
    SELECT machine, address.mac, address.ip
      FROM pg_catalog.jsonb_array_elements(network OPERATOR(pg_catalog.->) 'interfaces') i
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
END $$;

CREATE FUNCTION keep_new_addresses() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
BEGIN
    IF NEW.network OPERATOR(pg_catalog.<>) '{}'::pg_catalog.jsonb THEN
        IF NEW.deleted_at IS NULL THEN
            PERFORM public.write_addresses(NEW.id, NEW.network);
        END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION keep_addresses() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
BEGIN
    -- Most changes are to other columns.
    IF NEW.network OPERATOR(pg_catalog.=) OLD.network
       AND (NEW.deleted_at IS NULL) OPERATOR(pg_catalog.=) (OLD.deleted_at IS NULL) THEN
        RETURN NULL;
    END IF;
    DELETE FROM public.hardware_address a WHERE a.hardware_id OPERATOR(pg_catalog.=) NEW.id;
    IF NEW.deleted_at IS NULL THEN
        PERFORM public.write_addresses(NEW.id, NEW.network);
    END IF;
    RETURN NULL;
END $$;

DROP TRIGGER hardware_addresses ON hardware;
CREATE TRIGGER hardware_addresses AFTER INSERT ON hardware
    FOR EACH ROW EXECUTE FUNCTION keep_new_addresses();
CREATE TRIGGER hardware_addresses_change AFTER UPDATE ON hardware
    FOR EACH ROW EXECUTE FUNCTION keep_addresses();
