-- Removes the guards.

DROP FUNCTION refuse_identity CASCADE;
