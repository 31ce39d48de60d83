//! The transports to a server: a child process, Streamable HTTP, or the older HTTP with server-sent
//! events.

pub(crate) mod http;
pub(crate) mod sse;
pub(crate) mod stdio;

/// The maximum size of a message. A larger one closes the connection.
pub(crate) const MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Replaces `${NAME}` by its value. A missing value is an error, because a server that starts with
/// an empty password fails in confusing ways.
pub(crate) fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            return Err(format!("`${{` has no closing brace in {text:?}"));
        };
        let value = value(name).ok_or_else(|| {
            format!(
                "the environment variable {name} is not set; set it, or take ${{{name}}} out of the \
                configuration"
            )
        })?;
        filled.push_str(before);
        filled.push_str(&value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Fills all values of a map.
pub(crate) fn fill_all<'a>(
    pairs: impl IntoIterator<Item = (&'a String, &'a String)>,
    value: &(dyn Fn(&str) -> Option<String> + Send + Sync),
) -> Result<Vec<(String, String)>, String> {
    pairs.into_iter().map(|(name, text)| Ok((name.clone(), fill(text, value)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn variables_are_filled_and_missing_ones_are_errors() {
        let value = |name: &str| (name == "KEY").then(|| "s3cret".to_owned());
        assert_eq!(fill("Bearer ${KEY}!", value), Ok("Bearer s3cret!".into()));
        assert_eq!(fill("no names, $KEY stays", value), Ok("no names, $KEY stays".into()));
        assert!(fill("${OTHER}", value).unwrap_err().contains("OTHER is not set"));
        assert!(fill("${KEY", value).unwrap_err().contains("closing brace"));
    }
}
