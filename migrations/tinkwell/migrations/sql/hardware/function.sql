-- What happens around each change of a machine. These run as the owner and set no search_path, since that costs much of
-- what an insert does: every name is qualified, down to types and operators, so that nothing is looked up where the
-- caller says. Each statement and each expression of plpgsql is prepared anew for each transaction, so there are as few
-- as can be.

-- What no longer exists is told as it was, one version on.
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
    id := public.new_event_id(pg_catalog.clock_timestamp());
    at := pg_catalog.clock_timestamp();
    INSERT INTO public.events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'HARDWARE', NEW.id, kind, name, NEW.version, at, shape,
            pg_catalog.octet_length(shape::pg_catalog.text));
    IF public.must_ring() THEN
        PERFORM public.ring_bell(id, 'HARDWARE', NEW.id, NULL, kind, name, NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;

-- A new machine is recorded by one statement: the insert itself looks whether to ring, which is after it has locked the
-- log, and that is what a sleeper relies on. Where it must, or where there is something else to be seen to, it inserts
-- nothing, and the function goes the long way. After a crash of PostgreSQL nobody has said whether to ring (NULL), and
-- nobody sleeps.
CREATE OR REPLACE FUNCTION record_new_hardware() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
    shape   pg_catalog.text;
    id      pg_catalog.uuid;
    at      pg_catalog.timestamptz;
    payload pg_catalog.text;
    is_told pg_catalog.bool;
BEGIN
    IF NEW.updated_at OPERATOR(pg_catalog.=) NEW.created_at THEN
        shape := public.new_hardware_text(NEW);
    ELSE
        shape := public.hardware_text(NEW);
    END IF;
    -- Before the log is locked, this is no more than a guess at which way is the short one.
    IF public.is_bell_wanted() IS NOT TRUE THEN
        -- The number is drawn for a row that is inserted, not for one that is not.
        INSERT INTO public.events (resource_type, resource_id, event_type, name, version, data, size)
        SELECT 'HARDWARE', NEW.id, 'CREATED', 'hardware.created', NEW.version, shape::pg_catalog.json,
               pg_catalog.octet_length(shape)
         WHERE public.must_ring() IS NOT TRUE
           AND NEW.deleted_at IS NULL
           AND pg_catalog.octet_length(shape) OPERATOR(pg_catalog.<=) 1048576;
        IF FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    IF NEW.deleted_at IS NOT NULL OR pg_catalog.octet_length(shape) OPERATOR(pg_catalog.>) 1048576 THEN
        IF NEW.deleted_at IS NOT NULL THEN
            RETURN NULL;
        END IF;
        -- The shape holds metadata and network, and more.
        PERFORM public.check_hardware_size(NEW);
    END IF;
    id := public.new_event_id(pg_catalog.clock_timestamp());
    at := pg_catalog.clock_timestamp();
    INSERT INTO public.events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'HARDWARE', NEW.id, 'CREATED', 'hardware.created', NEW.version, at, shape::pg_catalog.json,
            pg_catalog.octet_length(shape));
    -- As `ring_bell` does it. An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    payload := pg_catalog.concat_ws(
        E'\x1f', pg_catalog.currval('public.events_revision'), id, 'HARDWARE', NEW.id, '', 'CREATED', 'hardware.created',
        NEW.version, (pg_catalog.date_part('epoch', at) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8, shape,
        public.current_actor());
    -- Now the log is locked, so this look counts.
    IF public.is_bell_wanted() THEN
        is_told := pg_catalog.pg_notify(
            public.bell_channel(),
            CASE WHEN pg_catalog.octet_length(payload) OPERATOR(pg_catalog.<) public.told_limit() THEN payload
                 ELSE '' END) IS NOT NULL;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION check_hardware_size(h hardware) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    IF (pg_catalog.octet_length(h.metadata::pg_catalog.text) OPERATOR(pg_catalog.+)
        pg_catalog.octet_length(h.network::pg_catalog.text)) OPERATOR(pg_catalog.>) 1048576 THEN
        RAISE EXCEPTION 'hardware % has more than 1 MiB of metadata and network together', h.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'hardware_size', TABLE = 'hardware';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION write_addresses(machine uuid, network jsonb) RETURNS void
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

-- An insert asks less than an update does. Most new machines have no addresses, which is asked by itself, since each
-- part of a question is prepared anew, too.
CREATE OR REPLACE FUNCTION keep_new_addresses() RETURNS trigger
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

-- A machine's phone call, whose event carries the machine's own state.
CREATE OR REPLACE FUNCTION phone_home(machine uuid, call jsonb, actor text) RETURNS TABLE (revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM set_config('tinkwell.actor', actor, true);
    RETURN QUERY
    SELECT record_event('HARDWARE', h.id, 'HARDWARE_PHONE_HOME', 'hardware.phone_home', h.version,
                        (hardware_shape(h)::jsonb || jsonb_build_object('phone_home', call))::json)
      FROM hardware h WHERE h.id = machine AND h.deleted_at IS NULL;
END $$;

REVOKE ALL ON FUNCTION
    record_hardware, record_new_hardware, check_hardware_size, write_addresses, keep_new_addresses, keep_addresses, phone_home
FROM PUBLIC;
