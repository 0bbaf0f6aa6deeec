-- Machines are deleted by a mark, and for good later on. Their addresses are kept by a trigger that runs as the owner.
GRANT SELECT, INSERT, UPDATE, DELETE ON hardware TO :"server_role";
GRANT SELECT ON hardware_address TO :"server_role";
-- UPDATE is what it takes to lock the table.
GRANT SELECT, INSERT, UPDATE ON self_enrolment TO :"server_role";
GRANT EXECUTE ON FUNCTION phone_home TO :"server_role";
