"""The limits of units and their relations."""

CONFIG_BYTES = 1 << 20
BAG_KEYS = 256
BAG_VALUE_BYTES = 64 << 10
BAG_BYTES = 1 << 20
# All bags that a unit and its application have in the relations of the unit; each of its events carries them.
OWN_BAGS_BYTES = 32 << 20
STATE_BYTES = 1 << 20
NOTICES = 1_000
LOG_LINE_BYTES = 128 << 10
LOG_LINES_PER_EVENT = 10_000
UNITS_PER_APPLICATION = 10_000
# AddUnits and Relate are refused above it: finding a unit's next event looks at all members of its relations.
MEMBERS_PER_RELATION = 2_000
TOOL_CALLS_PER_ATTEMPT = 10_000
# The size of a request that ends an event or a task; the server accepts no larger message.
COMMIT_BYTES = 4 << 20
SECRET_KEYS = 64
SECRET_BYTES = 1 << 20
SECRET_LABEL_CHARACTERS = 100
# For a unit, for an application, and for the users of a namespace.
SECRETS_PER_OWNER = 1_000
# Of revisions that exist at the same time. The owner is told of revisions that nobody reads, and removes them.
REVISIONS_PER_SECRET = 1_000
TASK_RESULT_BYTES = 1 << 20
TASK_LOG_LINES = 1_000
# The number of ended tasks that a unit keeps.
TASKS_PER_UNIT = 1_000
