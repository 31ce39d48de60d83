//! Scheduled tasks: a question or a workflow is queued with the current grants of its user.

use super::{Child, Log, Runner, agent_of};
use crate::ask::StoredQuestion;
use crate::error::Result;
use crate::journal_writer::JournalWriter;
use serde_json::{Map, json};
use std::sync::Arc;
use steward_domain::{
    AgentName, Check as _, ConversationId, Description, Schedule, ScheduleSubject, Task, TaskId, TaskStatus,
};

impl Runner {
    /// The task of a tick, added but not yet written: its writer takes further changes into the
    /// same transaction.
    pub(crate) async fn scheduled_task(&self, schedule: &Schedule) -> Result<(TaskId, Log)> {
        let (user, now) = (&schedule.user_id, self.now());
        let caller = self.toolbox.callers().now(user)?;
        let context = self.app();
        let id = TaskId(context.random.uuid_v7(now)?);
        let writer = Arc::new(JournalWriter::new(context.store.clone(), user.clone(), id.into(), None));
        let pending = |title: &str, agent: AgentName| -> Result<_> {
            let words: String = title.chars().take(1000).collect();
            let task = Task::running(id, user.clone(), Description::new(words)?, agent, now);
            Ok(Task { status: TaskStatus::Pending, started_at: None, ..task }.validate()?)
        };
        match &schedule.subject {
            ScheduleSubject::Question { question, data } => {
                let ask = self.toolbox.question_for_caller(caller.held(), user, question.as_str(), data)?;
                let agent = AgentName::new("analyst")?;
                let task = pending(question.as_str(), agent.clone())?;
                let mut log = Log { app: context.clone(), journal_writer: writer, task, sequence: 0, agent };
                let conversation = ConversationId(context.random.uuid_v7(now)?);
                let stored = StoredQuestion::unasked(ask, conversation);
                let data = json!({ "data_sources": stored.ask.data, "schedule": schedule.id });
                let personal = Map::from_iter([("intent".to_owned(), json!(question))]);
                log.queue(json!({ "question": stored }), data, personal)?;
                Ok((id, log))
            }
            ScheduleSubject::Workflow { workflow, input } => {
                let program = self.program(workflow.as_str()).await?;
                let agent = agent_of(&program)?;
                let task = pending(&program.definition().root.title(), agent)?;
                let mut log = self.log(writer, task, 0, &program)?;
                log.begin(&program, input, &Child::default(), None)?;
                Ok((id, log))
            }
        }
    }
}
