//! A report of cases as one HTML page, without scripts or external resources.

use super::{CaseReport, EvalReport, EvalRun};
use std::fmt::Write as _;
use steward_analysis::report::{escape_html, page_around};

/// The page of a report.
#[must_use]
pub fn eval_page(report: &EvalReport) -> String {
    let mut out = String::from("<header>\n<h1>Cases</h1>\n<ul class=\"facts\">\n");
    let facts = [format!("Steward {}", report.version), report.made_at.clone()];
    for fact in facts {
        let _ = writeln!(out, "<li>{}</li>", escape_html(&fact));
    }
    out.push_str(
        "</ul>\n</header>\n<section>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Cases\">\n",
    );
    out.push_str("<table>\n<thead><tr><th scope=\"col\">Case</th>");
    for (place, variant) in report.variants.iter().enumerate() {
        let total = report.cases.iter().filter(|case| case.runs.get(place).is_some()).count();
        let passed = report.passed(place);
        let _ = write!(out, "<th scope=\"col\">{} ({passed} of {total})</th>", escape_html(variant));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for case in &report.cases {
        let name = escape_html(&case.name);
        let _ = write!(out, "<tr><th scope=\"row\">{name}<br>{}</th>", escape_html(&case.question));
        for place in 0..report.variants.len() {
            let _ = write!(out, "<td>{}</td>", case.runs.get(place).map(summary).unwrap_or_default());
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
    report.cases.iter().for_each(|case| details(&mut out, case));
    page_around("Cases", &out)
}

fn summary(run: &EvalRun) -> String {
    let (class, word) = if run.passed { ("high", "passed") } else { ("low", "failed") };
    let failures: String = run.failures.iter().map(|line| format!("<br>{}", escape_html(line))).collect();
    format!("<span class=\"pill {class}\">{word}</span> {} ms{failures}", run.milliseconds)
}

fn details(out: &mut String, case: &CaseReport) {
    let _ = writeln!(
        out,
        "<section>\n<h2>{}</h2>\n<p>{}</p>",
        escape_html(&case.name),
        escape_html(&case.question)
    );
    for run in &case.runs {
        let _ = writeln!(out, "<h3>{}</h3>\n<p>{}</p>", escape_html(&run.variant), escape_html(&run.answer));
        for sql in &run.sql {
            let _ = writeln!(out, "<pre><code>{}</code></pre>", escape_html(sql));
        }
    }
    out.push_str("</section>\n");
}
