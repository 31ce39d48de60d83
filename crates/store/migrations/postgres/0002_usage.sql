-- Aggregates that outlive the executions and invocations they were made of.
CREATE TABLE usage_daily (
    day         TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('tool', 'agent')),
    name        TEXT NOT NULL,
    success     BOOLEAN NOT NULL,
    duration_ms BIGINT NOT NULL,
    calls       BIGINT NOT NULL,
    PRIMARY KEY (day, user_id, kind, name, success, duration_ms)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_daily TO steward_user, steward_system;
ALTER TABLE usage_daily ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_daily FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON usage_daily TO steward_user USING (user_id = current_setting('steward.user_id'));
CREATE POLICY house ON usage_daily TO steward_system USING (TRUE);
