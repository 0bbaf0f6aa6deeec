DO $$
DECLARE
    recorder regproc;
BEGIN
    FOREACH recorder IN ARRAY ARRAY[
        'record_hardware', 'record_new_hardware', 'record_template', 'record_workflow', 'record_action'
    ]::regproc[] LOOP
        EXECUTE replace(
            pg_get_functiondef(recorder), 'public.new_event_id(pg_catalog.clock_timestamp())', 'pg_catalog.gen_random_uuid()');
    END LOOP;
END $$;

ALTER TABLE events ALTER COLUMN id SET DEFAULT gen_random_uuid();
DROP FUNCTION new_event_id;
