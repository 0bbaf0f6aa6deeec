-- The tables whose rows own sealed values.
CREATE TRIGGER release_sealed AFTER DELETE ON release FOR EACH ROW EXECUTE FUNCTION delete_sealed();
CREATE TRIGGER release_revision_sealed AFTER DELETE ON release_revision FOR EACH ROW EXECUTE FUNCTION delete_sealed();
CREATE TRIGGER operation_sealed AFTER DELETE ON operation FOR EACH ROW EXECUTE FUNCTION delete_sealed();
