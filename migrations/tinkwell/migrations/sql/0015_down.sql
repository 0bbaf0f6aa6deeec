DROP TRIGGER hardware_addresses ON hardware;
DROP TRIGGER hardware_addresses_change ON hardware;
DROP FUNCTION keep_new_addresses;
DROP FUNCTION write_addresses;

-- As of 0013.
CREATE OR REPLACE FUNCTION record_new_hardware() RETURNS trigger
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

CREATE TRIGGER hardware_addresses AFTER INSERT OR UPDATE ON hardware
    FOR EACH ROW EXECUTE FUNCTION keep_addresses();

-- As of 0012.
CREATE OR REPLACE FUNCTION hardware_shape(h hardware) RETURNS json
LANGUAGE sql STABLE
RETURN concat(
    '{"id": "', h.id, '", "version": ', h.version, ', "metadata": ', h.metadata, ', "network": ', h.network,
    time_member('created_at', h.created_at), time_member('updated_at', h.updated_at),
    time_member('deleted_at', h.deleted_at), '}'
)::json;
DROP FUNCTION hardware_text;
