-- What happens around each change of applications and of what belongs to them, whoever makes it: versions count, states
-- move legally, and the change becomes an event.

CREATE TRIGGER namespace_version BEFORE UPDATE ON namespace FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER charm_version BEFORE UPDATE ON charm FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER application_version BEFORE UPDATE ON application FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER unit_version BEFORE UPDATE ON unit FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER unit_event_version BEFORE UPDATE ON unit_event FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER relation_version BEFORE UPDATE ON relation FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER storage_version BEFORE UPDATE ON storage FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER application_config BEFORE UPDATE OF config ON application
    FOR EACH ROW EXECUTE FUNCTION count_config_version();
CREATE TRIGGER relation_bag_version BEFORE INSERT OR UPDATE ON relation_bag
    FOR EACH ROW EXECUTE FUNCTION count_bag_version();

CREATE TRIGGER application_transition BEFORE UPDATE OF life ON application
    FOR EACH ROW EXECUTE FUNCTION check_unit_transition();
CREATE TRIGGER unit_transition BEFORE UPDATE OF life, phase ON unit
    FOR EACH ROW EXECUTE FUNCTION check_unit_transition();
CREATE TRIGGER relation_transition BEFORE UPDATE OF life ON relation
    FOR EACH ROW EXECUTE FUNCTION check_unit_transition();
CREATE TRIGGER unit_event_transition BEFORE INSERT OR UPDATE OF state, attempt ON unit_event
    FOR EACH ROW EXECUTE FUNCTION check_unit_event_transition();

CREATE TRIGGER namespace_identity BEFORE UPDATE OF id, name ON namespace
    FOR EACH ROW WHEN ((OLD.id, OLD.name::text) IS DISTINCT FROM (NEW.id, NEW.name::text))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER charm_identity BEFORE UPDATE OF id, digest ON charm
    FOR EACH ROW WHEN ((OLD.id, OLD.digest) IS DISTINCT FROM (NEW.id, NEW.digest)) EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER application_identity BEFORE UPDATE OF id, namespace, name ON application
    FOR EACH ROW WHEN ((OLD.id, OLD.namespace::text, OLD.name::text)
                       IS DISTINCT FROM (NEW.id, NEW.namespace::text, NEW.name::text))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER unit_identity BEFORE UPDATE OF id, application_id, namespace, number, name ON unit
    FOR EACH ROW WHEN ((OLD.id, OLD.application_id, OLD.namespace, OLD.number, OLD.name::text)
                       IS DISTINCT FROM (NEW.id, NEW.application_id, NEW.namespace, NEW.number, NEW.name::text))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER unit_event_identity BEFORE UPDATE OF id, unit_id, application_id, ordinal, kind ON unit_event
    FOR EACH ROW WHEN ((OLD.id, OLD.unit_id, OLD.application_id, OLD.ordinal, OLD.kind)
                       IS DISTINCT FROM (NEW.id, NEW.unit_id, NEW.application_id, NEW.ordinal, NEW.kind))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER relation_identity BEFORE UPDATE OF id, namespace, number, ends ON relation
    FOR EACH ROW WHEN ((OLD.id, OLD.namespace::text, OLD.number, OLD.ends)
                       IS DISTINCT FROM (NEW.id, NEW.namespace::text, NEW.number, NEW.ends))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER storage_identity BEFORE UPDATE OF id, namespace, name ON storage
    FOR EACH ROW WHEN ((OLD.id, OLD.namespace::text, OLD.name) IS DISTINCT FROM (NEW.id, NEW.namespace::text, NEW.name))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER relation_bag_identity BEFORE UPDATE OF relation_id, owner ON relation_bag
    FOR EACH ROW WHEN ((OLD.relation_id, OLD.owner) IS DISTINCT FROM (NEW.relation_id, NEW.owner))
    EXECUTE FUNCTION refuse_identity();

CREATE TRIGGER namespace_truncate BEFORE TRUNCATE ON namespace EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER charm_truncate BEFORE TRUNCATE ON charm EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER application_truncate BEFORE TRUNCATE ON application EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER unit_truncate BEFORE TRUNCATE ON unit EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER unit_event_truncate BEFORE TRUNCATE ON unit_event EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER relation_truncate BEFORE TRUNCATE ON relation EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER relation_bag_truncate BEFORE TRUNCATE ON relation_bag EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER storage_truncate BEFORE TRUNCATE ON storage EXECUTE FUNCTION refuse_truncate();

-- Deferred: the revision is drawn while the transaction commits, so a gap in the log lives as long as one commit.
CREATE CONSTRAINT TRIGGER namespace_event AFTER INSERT OR UPDATE OR DELETE ON namespace
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_namespace_event();
-- That a charm is used again is not told.
CREATE CONSTRAINT TRIGGER charm_event AFTER INSERT OR DELETE ON charm
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_charm_event();
CREATE CONSTRAINT TRIGGER application_event AFTER INSERT OR UPDATE OR DELETE ON application
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_application_event();
CREATE CONSTRAINT TRIGGER unit_event AFTER INSERT OR UPDATE OR DELETE ON unit
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_unit_event();
-- That an event is kept no longer is not told.
CREATE CONSTRAINT TRIGGER unit_event_event AFTER INSERT OR UPDATE ON unit_event
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_unit_event_event();
CREATE CONSTRAINT TRIGGER relation_event AFTER INSERT OR UPDATE OR DELETE ON relation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_relation_event();
CREATE CONSTRAINT TRIGGER relation_bag_event AFTER INSERT OR UPDATE ON relation_bag
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_relation_bag_event();
CREATE CONSTRAINT TRIGGER storage_event AFTER INSERT OR UPDATE OR DELETE ON storage
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_storage_event();

-- As in `event/guard.sql`: each change is an event, in a session that replicates, too.
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT t.tgrelid::regclass AS name, quote_ident(t.tgname) AS trigger_name
          FROM pg_trigger t
          JOIN pg_class c ON c.oid = t.tgrelid
          JOIN pg_proc p ON p.oid = t.tgfoid
         WHERE NOT t.tgisinternal AND t.tgenabled = 'O' AND t.tgparentid = 0
           AND c.relnamespace = 'public'::regnamespace AND p.pronamespace = c.relnamespace
           AND c.relname IN ('namespace', 'charm', 'application', 'unit', 'unit_event', 'relation', 'relation_bag',
                             'storage')
           AND p.proname ~ '^(write_\w+_event|count_\w+|refuse_\w+)$'
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %s', one.name, one.trigger_name);
    END LOOP;
END $$;
