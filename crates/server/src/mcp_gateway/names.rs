//! Tool names for clients that forbid dots: `crm.find` becomes `crm__find`.
//!
//! Both names are always accepted. The operator chooses which one is listed.

/// The name without dots.
pub(super) fn plain(name: &str) -> String {
    name.replace('.', "__")
}

/// The registered name: the first double underscore stands for the dot after the server name.
pub(super) fn dotted(name: &str) -> Option<String> {
    let (server, tool) = name.split_once("__")?;
    (!server.is_empty() && !tool.is_empty() && !name.contains('.')).then(|| format!("{server}.{tool}"))
}

#[cfg(test)]
mod tests {
    use super::{dotted, plain};

    #[test]
    fn plain_and_dotted_names_round_trip() {
        for name in ["crm.find", "time.now", "git.git_log"] {
            assert_eq!(dotted(&plain(name)).as_deref(), Some(name));
            assert!(!plain(name).contains('.'));
        }
        for name in ["ask", "tools_call", "__x", "a__", "a.b__c"] {
            assert_eq!(dotted(name), None, "{name}");
        }
    }
}
