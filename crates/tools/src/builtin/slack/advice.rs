//! Advice for Slack's error codes.

/// The advice, and whether a retry may help.
pub(super) fn advice(error: &str, needed: Option<String>) -> (String, bool) {
    let (text, transient) = match error {
        "channel_not_found" => {
            ("there is no such channel, or the bot cannot see it; check the name or invite the bot", false)
        }
        "not_in_channel" => ("the bot is not in this channel; invite it with /invite", false),
        "is_archived" => ("the channel is archived; unarchive it or choose another", false),
        "thread_not_found" | "message_not_found" => {
            ("there is no such message; take thread_ts from slack.history", false)
        }
        "invalid_auth" | "not_authed" | "token_revoked" | "token_expired" | "account_inactive" => {
            ("Slack does not accept the token; put a valid bot token into the configured variable", false)
        }
        "missing_scope" => {
            let scope = needed.map(|needed| format!(" {needed}")).unwrap_or_default();
            return (
                format!(
                    "the bot lacks the scope{scope}; add it in Slack's app settings and install the app again"
                ),
                false,
            );
        }
        "no_permission" | "restricted_action" | "access_denied" | "ekm_access_denied" => {
            ("the bot may not do this here; an administrator of the workspace can allow it", false)
        }
        "msg_too_long" => {
            ("the message is too long; keep it below 40000 characters or send it in parts", false)
        }
        "no_text" => ("the message is empty; give it a text", false),
        "invalid_ts_latest" | "invalid_ts_oldest" => {
            ("the time is not understood; write it as 2026-01-16T10:30:00Z", false)
        }
        "user_not_found" | "users_not_found" => ("there is no such person in the workspace", false),
        "invalid_arguments" | "invalid_arg_name" | "invalid_form_data" => {
            ("Slack does not understand the request; check channel and thread_ts", false)
        }
        "duplicate_message_not_allowed" | "duplicate_client_msg_id" => {
            ("this message was posted before; it is not posted twice", false)
        }
        "message_limit_exceeded" => ("the workspace has reached its limit of messages", false),
        "internal_error"
        | "fatal_error"
        | "service_unavailable"
        | "request_timeout"
        | "team_added_to_org" => ("Slack has trouble of its own; try again later", true),
        _ => ("Slack's documentation of the method explains this error", false),
    };
    (text.to_owned(), transient)
}
