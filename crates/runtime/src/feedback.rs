//! Feedback on answers: a rating, a comment, the corrected SQL. Each is a candidate for a verified
//! answer.
//!
//! Invariant: a user has one feedback for an answer. New feedback replaces it, and both are entries
//! of the journal.

use crate::ask::{AppContext, Ask, earlier_answer};
use crate::error::Result;
use crate::verified::{MOST, NewVerified, after, find_saved, list_saved, put_saved, write_saved};
use serde_json::json;
use steward_domain::{
    EventType, Feedback, FeedbackId, FeedbackStatus, Question, Rating, TaskId, UserId, VerifiedAnswer,
};
use steward_store::{Page, Scope};

/// A user's feedback on an answer.
#[derive(Debug, Clone)]
pub struct Opinion {
    /// The task of the answer.
    pub task: TaskId,
    /// Good or bad.
    pub rating: Rating,
    /// The comment.
    pub comment: String,
    /// The corrected SQL.
    pub corrected_sql: Option<String>,
}

impl AppContext {
    /// Stores a user's feedback on one of their answers.
    pub async fn rate(&self, user: &UserId, opinion: Opinion, surface: &str) -> Result<Feedback> {
        let scope = Scope::User(user.clone());
        let answered = earlier_answer(&*self.store, &scope, opinion.task).await?;
        let known: Vec<Feedback> = list_saved(&*self.store, &scope, Page::first(MOST)).await?;
        let known = known.into_iter().find(|one| one.task_id == opinion.task && one.user_id == *user);
        let now = self.clock.now();
        let seen = known.as_ref().map(|one| one.updated_at);
        let feedback = Feedback {
            id: match &known {
                Some(one) => one.id,
                None => FeedbackId(self.random.uuid_v7(now)?),
            },
            user_id: user.clone(),
            task_id: opinion.task,
            question: Question::new(answered.question.trim())?,
            rating: opinion.rating,
            comment: opinion.comment,
            corrected_sql: opinion.corrected_sql,
            status: FeedbackStatus::Open,
            created_at: known.as_ref().map_or(now, |one| one.created_at),
            updated_at: seen.map_or(now, |seen| after(now, seen)),
        };
        let data = json!({
            "feedback": feedback.id, "task": feedback.task_id, "rating": feedback.rating,
            "corrected": feedback.corrected_sql.is_some(),
        });
        let changes = vec![put_saved(feedback.clone(), seen)?];
        write_saved(&*self.store, user, feedback.id.0, EventType::FeedbackGiven, surface, data, changes)
            .await?;
        Ok(feedback)
    }

    /// Dismisses feedback.
    pub async fn dismiss_feedback(&self, scope: &Scope, id: FeedbackId, surface: &str) -> Result<()> {
        let mut feedback: Feedback = find_saved(&*self.store, scope, id.0).await?;
        let seen = feedback.updated_at;
        (feedback.status, feedback.updated_at) = (FeedbackStatus::Dismissed, after(self.clock.now(), seen));
        let (owner, data) = (feedback.user_id.clone(), json!({ "feedback": id, "status": "dismissed" }));
        let changes = vec![put_saved(feedback, Some(seen))?];
        write_saved(&*self.store, &owner, id.0, EventType::FeedbackGiven, surface, data, changes).await
    }

    /// Verifies the answer of a task, or corrected SQL for it. `ask` holds the access rights; its
    /// question and data are the task's, unless it names data itself.
    pub async fn verify_earlier(
        &self,
        ask: Ask,
        scope: &Scope,
        task: TaskId,
        new: NewVerified,
        surface: &str,
    ) -> Result<VerifiedAnswer> {
        let answered = earlier_answer(&*self.store, scope, task).await?;
        let data = if ask.data.is_empty() { answered.data.clone() } else { ask.data.clone() };
        let ask = Ask { question: answered.question.clone(), data, ..ask };
        self.verify(&ask, NewVerified { origin: Some(task), ..new }, surface).await
    }

    /// The question and the data of an earlier answer.
    pub async fn earlier_question(&self, scope: &Scope, task: TaskId) -> Result<(String, Vec<String>)> {
        let answered = earlier_answer(&*self.store, scope, task).await?;
        Ok((answered.question.trim().to_owned(), answered.data))
    }

    /// The data of an earlier answer.
    pub async fn data_of(&self, scope: &Scope, task: TaskId) -> Result<Vec<String>> {
        Ok(earlier_answer(&*self.store, scope, task).await?.data)
    }
}
