-- As of 0015.
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

-- As of 0012.
CREATE OR REPLACE FUNCTION must_ring() RETURNS boolean
LANGUAGE sql
RETURN pg_sequence_last_value('public.bell_wanted') > 0 OR current_setting('synchronous_commit') = 'off';

DROP FUNCTION is_bell_wanted;
DROP FUNCTION told_limit;
