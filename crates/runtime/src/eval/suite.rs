//! Files of cases.

use super::MOST_ROWS;
use crate::error::{Error, Result};
use std::fmt::Write as _;
use std::path::Path;
use steward_domain::{Check as _, EvalCase, EvalSuite};

/// Reads a file of cases. File names in it are relative to its own folder.
pub fn read_suite(file: &Path) -> Result<EvalSuite> {
    let wrong = |line: u64, problem: String| Error::Definition { file: file.to_owned(), line, problem };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(1, error.to_string()))?;
    let mut suite = parse(&text).map_err(|(line, problem)| wrong(line, problem))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let placed = |named: &String| {
        if named.contains("://") || Path::new(named).is_absolute() {
            named.clone()
        } else {
            folder.join(named).display().to_string()
        }
    };
    suite.data = suite.data.iter().map(placed).collect();
    for case in &mut suite.cases {
        case.data = case.data.iter().map(placed).collect();
    }
    Ok(suite)
}

fn parse(text: &str) -> std::result::Result<EvalSuite, (u64, String)> {
    let suite: EvalSuite = serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        let message = error.to_string();
        (line, message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
    })?;
    let valid = suite.validate().map_err(|invalid| (1, invalid.to_string()))?;
    Ok(valid.into_inner())
}

/// Appends a case to a file, which is created if it does not exist. The rest of the file is not
/// changed.
pub fn append_case(file: &Path, case: &EvalCase) -> Result<()> {
    let wrong = |problem: String| Error::Definition { file: file.to_owned(), line: 1, problem };
    let before = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "cases:\n".to_owned(),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let space = if before.ends_with('\n') { "" } else { "\n" };
    let text = format!("{before}{space}{}", written(case));
    // A case can only be appended if `cases` is the last part of the file.
    let known = parse(&before).map(|suite| suite.cases.len()).unwrap_or(0);
    match parse(&text) {
        Ok(suite) if suite.cases.len() == known + 1 => {}
        Ok(_) => return Err(wrong("`cases` has to be the last part of the file".to_owned())),
        Err((line, problem)) => return Err(Error::Definition { file: file.to_owned(), line, problem }),
    }
    std::fs::write(file, text).map_err(|error| wrong(error.to_string()))
}

/// A case in the format of the file.
fn written(case: &EvalCase) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let listed = |texts: &[String]| texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
    let mut out =
        format!("  - name: {}\n    question: {}\n", quoted(&case.name), quoted(case.question.as_str()));
    if !case.data.is_empty() {
        let _ = writeln!(out, "    data: [{}]", listed(&case.data));
    }
    out.push_str("    expect:\n");
    if let Some(rows) = &case.expect.rows {
        out.push_str(if rows.is_empty() { "      rows: []\n" } else { "      rows:\n" });
        for row in rows.iter().take(MOST_ROWS) {
            let _ = writeln!(out, "        - {}", serde_json::Value::from(row.clone()));
        }
    }
    if let Some(sql) = &case.expect.sql {
        let _ = writeln!(out, "      sql: {}", quoted(sql));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_case_is_added_and_comments_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cases.yaml");
        let case: EvalCase = serde_json::from_value(json!({
            "name": "it's \"quoted\": yes", "question": "total # amount\nby state", "data": [folder.path().join("a b.csv")],
            "expect": { "rows": [["Ohio", 2.5, null], ["- x: y", true]] },
        }))
        .unwrap();
        append_case(&file, &case).unwrap();
        assert_eq!(read_suite(&file).unwrap().cases.as_slice(), std::slice::from_ref(&case));
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("# ours\ndata: [sales.csv]\n{text}")).unwrap();
        assert!(append_case(&file, &case).is_err(), "a name comes once");
        let other = EvalCase { name: "other".into(), ..case };
        append_case(&file, &other).unwrap();
        let suite = read_suite(&file).unwrap();
        assert_eq!(suite.cases.len(), 2);
        assert_eq!(suite.data, [folder.path().join("sales.csv").display().to_string()]);
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("# ours\n"));
    }

    #[test]
    fn invalid_suite_is_reported_with_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cases.yaml");
        for (text, said) in [
            ("cases:\n  - name: a\n    question: b\n    expct: {}\n", "expct"),
            ("cases:\n  - name: a\n    question: b\n    expect: {}\n", "must expect"),
            ("cases: 3\n", "cases.yaml:1"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = read_suite(&file).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
