DROP FUNCTION delete_sealed CASCADE;
DROP TABLE sealed_value;
