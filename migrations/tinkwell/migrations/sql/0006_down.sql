DROP FUNCTION move_actions;
DROP TYPE action_move;
