-- The doorbell's rules, of which a downgrade to here brings these back.

-- Only the owner writes events, or a function that acts for the owner, so this one needs no rights and no path of its own,
-- which would be a tenth of what an event costs.
CREATE OR REPLACE FUNCTION ring_bell() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    -- The block holds nothing but the lock: leaving it keeps the lock to the end of the transaction.
    BEGIN
        LOCK TABLE ONLY public.bell IN ROW EXCLUSIVE MODE NOWAIT;
        RETURN NULL;
    EXCEPTION WHEN lock_not_available THEN
        NULL;
    END;
    NOTIFY tinkwell_bell;
    RETURN NULL;
END $$;

CREATE TRIGGER events_ring AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION ring_bell();

-- Takes the lock that makes writers ring, or says at once that it cannot be had.
CREATE OR REPLACE FUNCTION may_sleep() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    LOCK TABLE ONLY bell IN SHARE MODE NOWAIT;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Writes one event and returns its revision. Only functions that act for the owner call it, where speed does not count.
CREATE OR REPLACE FUNCTION record_event(
    resource_type text, resource_id uuid, event_type text, name text, version bigint, data json
) RETURNS bigint
LANGUAGE sql
AS $$
    INSERT INTO public.events (resource_type, resource_id, event_type, name, version, data, size)
    VALUES (resource_type, resource_id, event_type, name, version, data, octet_length(data::text))
    RETURNING revision
$$;
REVOKE ALL ON FUNCTION record_event, may_sleep FROM PUBLIC;
