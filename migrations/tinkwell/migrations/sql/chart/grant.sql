-- A chart is deleted for good once nothing names it.
GRANT SELECT, INSERT, UPDATE, DELETE ON chart TO :"server_role";
