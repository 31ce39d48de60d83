//! Follow-ups of an answer from data: "only 2022", "by month", "as a bar chart", "why did it drop?".
//!
//! The reader of requests knows tools and records. It does not know the columns and values of data,
//! nor the question before. So while a conversation is about data, a message that edits the last
//! question goes to the analysis before it is matched with tools, and one that nothing else here
//! can do goes there, too. The analysis says what it does not understand.

use super::readers::USER_DATA_DOMAIN;
use super::{ChatService, Opened};
use crate::error::Result;
use std::sync::Arc;
use steward_analysis::catalogue::Catalogue;
use steward_analysis::follow_up::{begins_edit, is_edit};
use steward_domain::DomainName;
use steward_language::understand::{Act, Answered, Kind, Step, Understood};
use steward_policy::Access;

/// The confidence that a message is about the data: when it edits the last question, and when
/// nothing else can do it.
const EDIT: f32 = 0.9;
const REST: f32 = 0.6;

impl ChatService {
    /// The understanding, or one that asks the data of the last question.
    pub(super) async fn follow_data(&self, opened: &Opened, understood: Understood) -> Result<Understood> {
        let Some(data) = self.followed_domain(opened) else { return Ok(understood) };
        if understood.answered != Answered::Nothing || understood.kind == Kind::Help || changes(&understood) {
            return Ok(understood);
        }
        let said = opened.turn.said.as_str();
        let sureness = match understood.kind {
            // An option of a question of the analysis is a question about the data.
            _ if opened.turn.choice.is_some() => Some(EDIT),
            _ if self.is_edit(opened, &data).await? => Some(EDIT),
            Kind::Act if asks(&understood, &data) => Some(EDIT),
            Kind::OutOfScope => Some(REST),
            // "Only the moon" is no small talk.
            Kind::Chat if begins_edit(said) => Some(REST),
            Kind::Act if understood.question.is_some() => Some(REST),
            _ => None,
        };
        Ok(match sureness {
            Some(sureness) => opened.reader.follow_up(&data, said, sureness),
            None => understood,
        })
    }

    /// The domain of the last question, if the conversation is still about its data.
    fn followed_domain(&self, opened: &Opened) -> Option<DomainName> {
        let memory = &opened.memory;
        if !memory.asked_data || memory.pending.is_some() || memory.confirming.is_some() {
            return None;
        }
        let asked = |step: &Step| (step.act == Act::Ask).then(|| step.domain.clone()).flatten();
        let domain = match memory.before.iter().find_map(asked) {
            Some(domain) => domain,
            None => DomainName::new(USER_DATA_DOMAIN).ok()?,
        };
        let known = opened.reader.domains().any(|topic| topic.name == domain);
        let (data, _) = self.sources(&opened.turn.caller, Some(&domain), &opened.data);
        (known && !data.is_empty()).then_some(domain)
    }

    /// Whether the message edits the last question.
    async fn is_edit(&self, opened: &Opened, domain: &DomainName) -> Result<bool> {
        let (data, (tables, rows)) = self.sources(&opened.turn.caller, Some(domain), &opened.data);
        let earlier = opened.memory.reading.clone().filter(|_| opened.memory.is_reading_of(&data));
        let Some(earlier) = earlier else { return Ok(false) };
        let rules = self.toolbox.rules();
        let access = Access {
            allowed_columns: rules.policy.allowed_columns.iter().cloned().collect(),
            blocked_patterns: rules.policy.blocked_patterns.clone(),
            tables,
            rows,
        };
        let catalogue: Arc<Catalogue> = self.readers.catalogue(&self.toolbox, &data, &access).await?;
        let app = self.app();
        let today = app.clock.now().to_chrono().date_naive();
        let (encoder, said) = (app.encoder.clone(), opened.turn.said.clone());
        let read = tokio::task::spawn_blocking(move || {
            let meaning = |a: &str, b: &str| encoder.similarity(a, b);
            is_edit(&said, &catalogue, &earlier, today, &meaning)
        });
        read.await.map_err(|error| steward_tools::Error::Bug { detail: error.to_string() }.into())
    }
}

/// Whether a tool is to change something.
fn changes(understood: &Understood) -> bool {
    understood.question.is_none()
        && understood.steps.iter().any(|step| step.tool().is_some() && !step.read_only)
}

/// Whether the data is asked already, with words that were completed from the last message.
fn asks(understood: &Understood, data: &DomainName) -> bool {
    let is_it = |step: &Step| step.act == Act::Ask && step.domain.as_ref() == Some(data);
    matches!(understood.steps.as_slice(), [only] if is_it(only))
}
