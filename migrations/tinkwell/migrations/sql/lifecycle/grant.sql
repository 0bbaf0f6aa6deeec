-- What was emitted goes with its operation.
GRANT SELECT, INSERT, UPDATE, DELETE ON lifecycle TO :"server_role";
