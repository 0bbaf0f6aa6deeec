-- What is sealed of a row goes with it, whoever deletes it.
CREATE OR REPLACE FUNCTION delete_sealed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    owner text;
BEGIN
    IF TG_TABLE_NAME = 'release_revision' THEN
        owner := concat(OLD.release_id, '/', OLD.revision);
    ELSIF TG_TABLE_NAME = 'secret_revision' THEN
        owner := concat(OLD.secret_id, '/', OLD.revision);
    ELSE
        owner := OLD.id;
    END IF;
    DELETE FROM sealed_value WHERE owner_kind = TG_TABLE_NAME AND owner_id = owner;
    RETURN NULL;
END $$;

REVOKE ALL ON FUNCTION delete_sealed FROM PUBLIC;
