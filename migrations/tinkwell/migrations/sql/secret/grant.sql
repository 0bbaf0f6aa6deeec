GRANT SELECT, INSERT, UPDATE, DELETE ON sealed_value TO :"server_role";
