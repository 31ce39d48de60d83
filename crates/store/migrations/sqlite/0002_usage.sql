-- Aggregates that outlive the executions and invocations they were made of.
CREATE TABLE usage_daily (
    day         TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('tool', 'agent')),
    name        TEXT NOT NULL,
    success     INTEGER NOT NULL CHECK (success IN (0, 1)),
    duration_ms INTEGER NOT NULL,
    calls       INTEGER NOT NULL,
    PRIMARY KEY (day, user_id, kind, name, success, duration_ms)
) STRICT, WITHOUT ROWID;
