-- Templates are deleted by a mark, and for good later on.
GRANT SELECT, INSERT, UPDATE, DELETE ON template TO :"server_role";
