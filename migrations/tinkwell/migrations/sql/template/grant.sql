-- Templates are deleted by a mark.
GRANT SELECT, INSERT, UPDATE ON template TO :"server_role";
