//! Unanswered or badly answered questions, grouped by meaning, with proposed fixes.
//!
//! Invariant: a proposal changes nothing by itself. It is accepted by the command that verifies,
//! adds a paraphrase or edits a definition, with the rights of that command.

use crate::ask::AppContext;
use crate::error::{Error, Result};
use crate::verified::{MOST, after, find_saved, list_saved, put_saved, write_saved};
use serde::Serialize;
use serde_json::json;
use steward_domain::{
    EventType, Feedback, FeedbackStatus, Question, Rating, SemanticModel, TaskId, TaskStatus, Timestamp,
    UserId, VerifiedAnswer, VerifiedId,
};
use steward_store::{Page, Scope, TaskFilter};

/// The maximum number of failed tasks that are read, newest first.
const RECENT: u32 = 300;
/// The similarity from which two questions are grouped.
const ALIKE: f32 = 0.6;
/// The similarity from which a question may be a paraphrase of another.
const NEAR: f32 = 0.8;
/// The similarity from which a question may mean a metric that it does not name.
const METRIC_SIMILARITY: f32 = 0.5;

/// Why a question is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum GapReason {
    /// It was not answered.
    Unanswered {
        /// The reply.
        said: String,
    },
    /// A user rated the answer as wrong.
    RatedWrong {
        /// The user's comment.
        comment: String,
    },
}

/// A question that was not answered well.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gap {
    /// The question.
    pub question: String,
    /// Its task.
    pub task_id: TaskId,
    /// The user.
    pub user_id: UserId,
    /// The time.
    pub at: Timestamp,
    /// Why it is listed.
    #[serde(flatten)]
    pub reason: GapReason,
    #[serde(skip)]
    corrected_sql: Option<String>,
}

/// A proposed fix.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "fix", rename_all = "snake_case")]
pub enum ProposedFix {
    /// Verify the SQL that a user gave.
    Verify {
        /// The task of the answer.
        task_id: TaskId,
        /// The SQL.
        sql: String,
    },
    /// Make the question a paraphrase of a verified one.
    Paraphrase {
        /// The verified answer.
        verified_id: VerifiedId,
        /// The verified question.
        question: String,
    },
    /// Make words of the question a synonym of a metric.
    Synonym {
        /// The metric.
        metric: String,
    },
    /// Verify an answer, or define a metric.
    Answer,
}

/// Questions with a similar meaning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GapGroup {
    /// The questions, newest first.
    pub questions: Vec<Gap>,
    /// The proposed fix.
    #[serde(flatten)]
    pub fix: ProposedFix,
}

impl AppContext {
    /// The unanswered questions of a scope, and those with open negative feedback, in groups. The
    /// largest group is first.
    pub async fn gaps(&self, scope: &Scope) -> Result<Vec<GapGroup>> {
        let failed = TaskFilter { status: Some(TaskStatus::Failed) };
        let tasks = self.store.tasks(scope, failed, Page::first(RECENT)).await?;
        let asked = tasks.iter().filter(|task| task.assigned_agent.as_str() == "analyst");
        let mut gaps: Vec<Gap> = asked
            .map(|task| Gap {
                question: task.description.trim().to_owned(),
                task_id: task.id,
                user_id: task.user_id.clone(),
                at: task.created_at,
                reason: GapReason::Unanswered { said: task.error.clone().unwrap_or_default() },
                corrected_sql: None,
            })
            .collect();
        let feedback: Vec<Feedback> = list_saved(&*self.store, scope, Page::first(MOST)).await?;
        let open = feedback
            .into_iter()
            .filter(|one| one.status == FeedbackStatus::Open && one.rating == Rating::Down);
        gaps.extend(open.map(|one| Gap {
            question: one.question.to_string(),
            task_id: one.task_id,
            user_id: one.user_id,
            at: one.updated_at,
            reason: GapReason::RatedWrong { comment: one.comment },
            corrected_sql: one.corrected_sql,
        }));
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.at));
        let mut groups: Vec<Vec<Gap>> = Vec::new();
        for gap in gaps {
            let alike = |group: &&mut Vec<Gap>| {
                group.first().is_some_and(|first| {
                    first.question.eq_ignore_ascii_case(&gap.question)
                        || self.encoder.similarity(&first.question, &gap.question) >= ALIKE
                })
            };
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(gap),
                None => groups.push(vec![gap]),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let verified: Vec<VerifiedAnswer> = list_saved(&*self.store, scope, Page::first(MOST)).await?;
        let model = self.semantic_model()?;
        let told = |questions: Vec<Gap>| GapGroup { fix: self.fix(&questions, &verified, &model), questions };
        Ok(groups.into_iter().map(told).collect())
    }

    fn fix(&self, group: &[Gap], verified: &[VerifiedAnswer], model: &SemanticModel) -> ProposedFix {
        if let Some((task_id, sql)) =
            group.iter().find_map(|gap| Some((gap.task_id, gap.corrected_sql.clone()?)))
        {
            return ProposedFix::Verify { task_id, sql };
        }
        let Some(first) = group.first() else { return ProposedFix::Answer };
        let nearness = |text: &str| self.encoder.similarity(&first.question, text);
        let near = verified.iter().map(|one| (nearness(one.question.as_str()), one));
        if let Some((near, one)) = near.max_by(|(a, _), (b, _)| a.total_cmp(b))
            && near >= NEAR
        {
            return ProposedFix::Paraphrase { verified_id: one.id, question: one.question.to_string() };
        }
        let meant = model.metrics.iter().flat_map(|(name, metric)| {
            std::iter::once(name).chain(&metric.synonyms).map(move |word| (name, word))
        });
        let meant = meant.map(|(name, word)| (nearness(word), name));
        match meant.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
            Some((near, name)) if near >= METRIC_SIMILARITY => ProposedFix::Synonym { metric: name.clone() },
            _ => ProposedFix::Answer,
        }
    }

    /// Adds a paraphrase to a verified answer of the user.
    pub async fn add_paraphrase(
        &self,
        user: &UserId,
        id: VerifiedId,
        words: &str,
        surface: &str,
    ) -> Result<VerifiedAnswer> {
        let mut answer: VerifiedAnswer = find_saved(&*self.store, &Scope::User(user.clone()), id.0).await?;
        if answer.user_id != *user {
            let reason = format!("{} vouches for this answer", answer.user_id);
            return Err(Error::NotAdmitted { user: user.to_string(), reason });
        }
        let words = Question::new(words.trim())?;
        if answer.question == words || answer.paraphrases.contains(&words) {
            return Ok(answer);
        }
        let seen = answer.updated_at;
        answer.paraphrases.push(words);
        answer.updated_at = after(self.clock.now(), seen);
        let data =
            json!({ "action": "paraphrased", "verified": id, "paraphrases": answer.paraphrases.len() });
        let changes = vec![put_saved(answer.clone(), Some(seen))?];
        write_saved(&*self.store, user, id.0, EventType::AnswerVerified, surface, data, changes).await?;
        Ok(answer)
    }
}
