//! `steward verify`: verified answers, and whether they still return the same rows.

use super::{Context, ask};
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short, table};
use clap::{Args, Subcommand};
use steward_domain::{Feedback, FeedbackStatus, TaskId, VerifiedAnswer, VerifiedId, VerifiedStatement};
use steward_runtime::ask::Ask;
use steward_runtime::{
    CheckOutcome, GapGroup, GapReason, NewVerified, Opinion, ProposedFix, find_saved, list_saved,
};
use steward_store::Page;

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward verify add \"net sales in Arizona in Q1 2021\" --data sales.csv --sql \"SELECT …\"
  steward verify add --from TASK        what an earlier question was answered with
  steward verify run                    run all of them again; exit code 2 when one moved")]
pub(crate) enum Verify {
    /// Verify the answer to a question: it is run once and stored with its rows.
    Add(Add),
    /// List verified answers, newest first.
    List,
    /// Show a verified answer.
    Show {
        /// The verified answer.
        id: VerifiedId,
    },
    /// Run verified answers again and report changes.
    Run {
        /// Only these.
        ids: Vec<VerifiedId>,
    },
    /// Accept the current rows as the expected ones.
    Accept {
        /// The verified answer.
        id: VerifiedId,
    },
    /// Withdraw a verification.
    Remove {
        /// The verified answer.
        id: VerifiedId,
    },
    /// List feedback that has not been reviewed.
    Candidates,
    /// List questions without a good answer, grouped by meaning, with what would help.
    Gaps,
    /// Add a paraphrase to a verified answer, with the same values.
    Also {
        /// The verified answer.
        id: VerifiedId,
        /// The paraphrase.
        question: String,
    },
    /// Rate an answer.
    Rate {
        /// The task of the answer.
        task: TaskId,
        /// Rate it as wrong; without this it is rated as right.
        #[arg(long)]
        wrong: bool,
        /// The correct SQL.
        #[arg(long)]
        sql: Option<String>,
        /// A comment.
        #[arg(long, default_value = "")]
        comment: String,
    },
}

#[derive(Args)]
pub(crate) struct Add {
    /// The question.
    #[arg(required_unless_present = "from")]
    question: Option<String>,
    /// A file, a folder, a pattern or a database address; repeat it for several.
    #[arg(long, short, value_name = "SOURCE")]
    data: Vec<String>,
    /// The SELECT statement that answers it; derived from the question by default.
    #[arg(long)]
    sql: Option<String>,
    /// The task of an earlier answer to verify.
    #[arg(long, value_name = "TASK", conflicts_with = "question")]
    from: Option<TaskId>,
    /// A paraphrase of the question, with the same values; repeat it for several.
    #[arg(long, value_name = "QUESTION")]
    also: Vec<String>,
    /// A note.
    #[arg(long, default_value = "")]
    note: String,
}

pub(super) async fn run(context: &Context, command: Verify) -> Result<(), Failure> {
    let opened = context.open().await?;
    let app = super::app(context, &opened)?;
    let store = &*opened.store;
    let reading = |question: String, data: Vec<String>| Ask { question, data, ..ask::plain(context) };
    match command {
        Verify::Add(add) => {
            let new = NewVerified { sql: add.sql, origin: None, paraphrases: add.also, note: add.note };
            let answer = match add.from {
                Some(task) => {
                    let asked = reading(String::new(), add.data);
                    app.verify_earlier(asked, &context.scope, task, new, "cli").await?
                }
                None => app.verify(&reading(add.question.unwrap_or_default(), add.data), new, "cli").await?,
            };
            shown(context, &answer);
        }
        Verify::List => {
            let found: Vec<VerifiedAnswer> = list_saved(store, &context.scope, Page::first(1000)).await?;
            if context.json {
                document(&found);
                return Ok(());
            }
            let row = |one: &VerifiedAnswer| {
                let (question, tables) = (short(one.question.as_str(), 60), one.tables.join(", "));
                vec![one.id.to_string(), question, tables, one.user_id.to_string(), one.updated_at.day()]
            };
            let head = ["verified", "question", "tables", "by", "on"];
            table(&head, found.iter().map(row).collect(), "nothing is verified yet");
        }
        Verify::Show { id } => {
            let found: VerifiedAnswer = find_saved(store, &context.scope, id.0).await?;
            shown(context, &found);
        }
        Verify::Run { ids } => {
            let checks = app.check_verified(&reading(String::new(), Vec::new()), &ids, "cli").await?;
            let moved = checks.iter().filter(|check| check.outcome != CheckOutcome::Same).count();
            if context.json {
                document(&checks);
            } else {
                for check in &checks {
                    let (tone, word, lines) = match &check.outcome {
                        CheckOutcome::Same => (Tone::Good, "same", Vec::new()),
                        CheckOutcome::Moved { changes } => (Tone::Bad, "moved", changes.clone()),
                        CheckOutcome::Broken { code, reason } => {
                            (Tone::Bad, "broken", vec![format!("{code} {reason}")])
                        }
                    };
                    say(format!("{}  {}  {}", paint(tone, word), check.id, check.question));
                    lines.iter().for_each(|line| say(format!("      {line}")));
                }
                say(format!("{} verified, {moved} moved or broken", checks.len()));
            }
            if moved > 0 {
                let told = format!("{moved} of {} verified answers moved or broke", checks.len());
                return Err(Failure::user("RUN032", told));
            }
        }
        Verify::Accept { id } => {
            app.accept_verified(&reading(String::new(), Vec::new()), id, "cli").await?;
            say(format!("accepted what {id} gives now"));
        }
        Verify::Remove { id } => {
            app.unverify(&context.scope, id, "cli").await?;
            say(format!("removed {id}"));
        }
        Verify::Candidates => {
            let found: Vec<Feedback> = list_saved(store, &context.scope, Page::first(1000)).await?;
            let open: Vec<&Feedback> =
                found.iter().filter(|one| one.status == FeedbackStatus::Open).collect();
            if context.json {
                document(&open);
                return Ok(());
            }
            let row = |one: &&Feedback| {
                let rating = format!("{:?}", one.rating).to_lowercase();
                vec![
                    one.task_id.to_string(),
                    rating,
                    short(one.question.as_str(), 50),
                    short(&one.comment, 40),
                ]
            };
            table(
                &["task", "rating", "question", "comment"],
                open.iter().map(row).collect(),
                "nothing is open",
            );
        }
        Verify::Gaps => {
            let groups = app.gaps(&context.scope).await?;
            if context.json { document(&groups) } else { gaps(&groups) }
        }
        Verify::Also { id, question } => {
            let answer = app.add_paraphrase(&context.settings.user, id, &question, "cli").await?;
            shown(context, &answer);
        }
        Verify::Rate { task, wrong, sql, comment } => {
            let rating = if wrong { steward_domain::Rating::Down } else { steward_domain::Rating::Up };
            let opinion = Opinion { task, rating, comment, corrected_sql: sql };
            let feedback = app.rate(&context.settings.user, opinion, "cli").await?;
            say(format!("kept {}. `steward verify add --from {task}` verifies it", feedback.id));
        }
    }
    Ok(())
}

/// Prints unanswered questions, and the command that would help.
fn gaps(groups: &[GapGroup]) {
    for group in groups {
        let count = group.questions.len();
        for (place, gap) in group.questions.iter().take(3).enumerate() {
            let why = match &gap.reason {
                GapReason::Unanswered { said } => format!("not answered: {}", short(said, 80)),
                GapReason::RatedWrong { comment } => format!("called wrong {comment}").trim().to_owned(),
            };
            let times = if place == 0 { format!("{count}x  ") } else { "    ".to_owned() };
            say(format!("{times}{}  {}", gap.question, paint(Tone::Quiet, &why)));
        }
        let (task, question) = match group.questions.first() {
            Some(gap) => (gap.task_id.to_string(), gap.question.clone()),
            None => continue,
        };
        say(match &group.fix {
            ProposedFix::Verify { task_id, sql } => {
                format!(
                    "    verify the SQL that was given: steward verify add --from {task_id} --sql {sql:?}"
                )
            }
            ProposedFix::Paraphrase { verified_id, question: known } => {
                format!("    the same as {known:?}? steward verify also {verified_id} {question:?}")
            }
            ProposedFix::Synonym { metric } => {
                format!("    does it mean the metric {metric}? Add its words to `synonyms` in semantics/")
            }
            ProposedFix::Answer => {
                format!(
                    "    say what answers it: steward verify add {question:?} --data … --sql …  (task {task})"
                )
            }
        });
    }
    if groups.is_empty() {
        say(paint(Tone::Quiet, "nothing is open"));
    }
}

fn shown(context: &Context, answer: &VerifiedAnswer) {
    if context.json {
        return document(answer);
    }
    say(format!("{}  {}", paint(Tone::Good, "verified"), answer.id));
    say(format!("question   {}", answer.question));
    answer.paraphrases.iter().for_each(|phrase| say(format!("also       {phrase}")));
    say(format!("data       {}", answer.data.join(", ")));
    say(format!("tables     {}", answer.tables.join(", ")));
    say(format!("by         {} on {}", answer.user_id, answer.updated_at.day()));
    if !answer.note.is_empty() {
        say(format!("note       {}", answer.note));
    }
    match &answer.statement {
        VerifiedStatement::Sql(sql) => say(format!("sql        {sql}")),
        VerifiedStatement::Reading(_) => say("statement  the built-in reading of the question"),
    }
}
