//! Views of MCP Apps (SEP-1865, revision 2026-01-26): answers and waiting approvals as UI resources.
//!
//! Invariants
//! - A view is static. Its data is the result of the tool that it belongs to.
//! - A view loads nothing: its policy allows its own script and style by their hashes, pictures as
//!   `data:` and no host. It declares no domain and no permission.
//! - A decision in a view is a call of `approvals_decide` with the digest that is shown. It is
//!   checked like every other call, so a view can do nothing that the client cannot do without it.

use crate::mcp::{Resource, ResourceBody, VIEW_TYPE};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

const BRIDGE: &str = include_str!("bridge.js");
const STYLE: &str = include_str!("style.css");

/// A view.
struct View {
    uri: &'static str,
    name: &'static str,
    description: &'static str,
    script: &'static str,
}

/// The view of `ask` and `analyse`.
pub(super) const ANSWER: &str = "ui://steward/answer";
/// The view of `approvals_list`.
pub(super) const APPROVALS: &str = "ui://steward/approvals";

const VIEWS: [View; 2] = [
    View {
        uri: ANSWER,
        name: "Answer",
        description: "An answer with its charts and tables.",
        script: include_str!("answer.js"),
    },
    View {
        uri: APPROVALS,
        name: "Approvals",
        description: "The calls that wait for a person, each with its digest.",
        script: include_str!("approvals.js"),
    },
];

/// The view that shows the result of a tool.
pub(super) fn view_of(tool: &str) -> Option<&'static str> {
    match tool {
        "ask" | "analyse" => Some(ANSWER),
        "approvals_list" => Some(APPROVALS),
        _ => None,
    }
}

/// The views as resources.
pub(super) fn resources() -> impl Iterator<Item = Resource> {
    VIEWS.iter().map(|view| Resource {
        uri: view.uri.to_owned(),
        name: view.name.to_owned(),
        description: Some(view.description.to_owned()),
        mime_type: Some(VIEW_TYPE.to_owned()),
        ..Resource::default()
    })
}

/// The document of a view.
pub(super) fn read(uri: &str) -> Option<ResourceBody> {
    let view = VIEWS.iter().find(|view| view.uri == uri)?;
    Some(ResourceBody::View { uri: uri.to_owned(), html: document(view) })
}

fn document(view: &View) -> String {
    let script = format!("\n{BRIDGE}\n{}", view.script);
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; \
            form-action 'none'",
        hash(&script),
        hash(STYLE)
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
            http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<title>{}</title>\n\
            <style>{STYLE}</style>\n</head>\n<body>\n<main></main>\n<script>{script}</script>\n</body>\n\
            </html>\n",
        view.name
    )
}

/// The hash of a script or style as a policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::{VIEWS, document, hash, read, view_of};
    use crate::mcp::ResourceBody;
    use crate::mcp_gateway::verbs::verbs;

    fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
        let (_, rest) = text.split_once(start).unwrap();
        rest.split_once(end).unwrap().0
    }

    #[test]
    fn views_are_allowed_exactly_their_own_script_and_style() {
        for view in &VIEWS {
            let html = document(view);
            let policy = between(&html, "Content-Security-Policy\" content=\"", "\">");
            let script = between(&html, "<script>", "</script>");
            let style = between(&html, "<style>", "</style>");
            assert!(policy.starts_with("default-src 'none'; "), "{policy}");
            assert!(policy.contains(&format!("script-src '{}'", hash(script))), "{policy}");
            assert!(policy.contains(&format!("style-src '{}'", hash(style))), "{policy}");
            assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
            // Nothing is fetched, evaluated or written as HTML.
            for forbidden in ["http", "innerHTML", "outerHTML", "insertAdjacent", "eval(", "fetch(", "import"]
            {
                assert!(!html.replace("http-equiv", "").contains(forbidden), "{}: {forbidden}", view.uri);
            }
            assert_eq!(html.matches("</script>").count(), 1);
        }
    }

    #[test]
    fn every_view_of_a_tool_can_be_read() {
        let views: Vec<_> = verbs().iter().filter_map(|tool| view_of(&tool.name)).collect();
        assert_eq!(views.len(), 3);
        for uri in views {
            assert!(matches!(read(uri), Some(ResourceBody::View { .. })), "{uri}");
        }
        assert!(read("ui://steward/nothing").is_none());
    }
}
