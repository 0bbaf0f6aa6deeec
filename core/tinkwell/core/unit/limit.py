"""How much there may be of what units and their relations have."""

CONFIG_BYTES = 1 << 20
BAG_KEYS = 256
BAG_VALUE_BYTES = 64 << 10
BAG_BYTES = 1 << 20
# What a unit and its application say in all relations of the unit, which comes with each of its events.
OWN_BAGS_BYTES = 32 << 20
STATE_BYTES = 1 << 20
NOTICES = 1_000
LOG_LINE_BYTES = 128 << 10
LOG_LINES_PER_EVENT = 10_000
UNITS_PER_APPLICATION = 10_000
# AddUnits and Relate beyond it are refused: finding a unit's next event looks at all members of its relations.
MEMBERS_PER_RELATION = 2_000
# How many of its events a unit keeps, beside those that it still needs.
EVENTS_PER_UNIT = 1_000
TOOL_CALLS_PER_ATTEMPT = 10_000
TOOL_INPUT_BYTES = 4 << 20
# What the end of an event or a task may have in all, which is the most that the server takes at once.
COMMIT_BYTES = 4 << 20
SECRET_KEYS = 64
SECRET_BYTES = 1 << 20
SECRET_LABEL_CHARACTERS = 100
# Of a unit, an application, or the users of a namespace.
SECRETS_PER_OWNER = 1_000
# That are kept at once; those that nobody reads are removed by the owner, who is told of them.
REVISIONS_PER_SECRET = 1_000
TASK_RESULT_BYTES = 1 << 20
TASK_LOG_LINES = 1_000
# How many of its ended tasks a unit keeps.
TASKS_PER_UNIT = 1_000
