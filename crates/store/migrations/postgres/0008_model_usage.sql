-- What models used, by day, person and model. Rows are added to, one commit with the journal entry of each answer.
CREATE TABLE model_usage (
    day           TEXT NOT NULL,
    user_id       TEXT NOT NULL,
    model         TEXT NOT NULL,
    calls         BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost_micros   BIGINT NOT NULL,
    PRIMARY KEY (day, user_id, model)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON model_usage TO steward_user, steward_system;
ALTER TABLE model_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_usage FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON model_usage TO steward_user USING (user_id = current_setting('steward.user_id'));
CREATE POLICY house ON model_usage TO steward_system USING (TRUE);
