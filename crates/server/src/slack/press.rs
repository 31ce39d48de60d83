//! Buttons: a response to a question, or a decision on a pending call.
//!
//! Invariants
//! - Only the user who was asked can answer a question, and only while it is the latest one. An old
//!   "Yes" never agrees to a newer question.
//! - Only users who may approve can decide on a call, and only on the call that was shown: task and
//!   digest must match the button. Other users get an ephemeral message.

use super::api::{MessageTarget, Post};
use super::error::Error;
use super::event::ButtonPress;
use super::mrkdwn::escape;
use super::show::{self, ANSWER, ANSWERS, APPROVE, Choice, Decision, REJECT};
use super::{Slack, turn};
use serde_json::Value as Json;
use std::sync::Arc;
use steward_domain::{HumanAction, JsonObject, Label, Role};
use steward_language::answer::tell;
use steward_policy::Caller;
use steward_runtime::converse::{OptionChoice, Turn};
use steward_runtime::run::{Decided, DecisionOutcome, RunStatus};
use steward_store::Scope;

impl Slack {
    /// Accepts a pressed button. It is processed in the background.
    pub(super) async fn press(self: &Arc<Self>, press: ButtonPress) -> Result<(), Error> {
        self.room_for_more()?;
        let slack = self.clone();
        if press.action.starts_with(ANSWER) {
            let Ok(choice) = serde_json::from_str::<Choice>(&press.value) else { return Ok(()) };
            let caller = self.people.caller(&press.by.team, &press.by.user);
            let key = caller.as_ref().map(|caller| super::place::id(&choice.place, &caller.user, 0).0);
            let turn = self.queue(key.unwrap_or(choice.task.0)).await;
            self.spawn(Some(turn), async move { slack.chosen(&press, &choice, caller).await });
        } else if press.action == APPROVE || press.action == REJECT {
            let Ok(decision) = serde_json::from_str::<Decision>(&press.value) else { return Ok(()) };
            let turn = self.queue(decision.task.0).await;
            self.spawn(Some(turn), async move { slack.decided(&press, &decision).await });
        }
        Ok(())
    }

    async fn whisper(&self, press: &ButtonPress, text: &str) -> Result<(), Error> {
        self.api.whisper(press.to(), &press.by.user, text).await
    }

    fn stranger(&self) -> String {
        format!("I do not know you yet. Please ask {} to add you.", self.options.contact)
    }

    async fn chosen(
        &self,
        press: &ButtonPress,
        choice: &Choice,
        caller: Option<Caller>,
    ) -> Result<(), Error> {
        if press.by != choice.asked {
            let text =
                format!("This question was put to <@{}>. Mention me to ask your own.", choice.asked.user);
            return self.whisper(press, &text).await;
        }
        let Some(caller) = caller else { return self.whisper(press, &self.stranger()).await };
        let Some(conversation) = self.conversation(&choice.place, &caller).await? else {
            return self.whisper(press, "This conversation has ended. Mention me to begin anew.").await;
        };
        let scope = Scope::User(caller.user.clone());
        let window = self.chat.toolbox().app().store.window(&scope, conversation, 2).await?;
        let last = window.iter().rev().find(|message| message.role == Role::Agent);
        let asked =
            last.filter(|last| last.metadata.get("request_id") == Some(&serde_json::json!(choice.task)));
        let offered = asked
            .and_then(|last| last.metadata.get("question")?.pointer(&format!("/options/{}", choice.option)));
        let text = |name: &str| offered.and_then(|offered| offered.get(name)?.as_str()).map(str::to_owned);
        let (Some(label), Some(said)) = (text("label"), text("say")) else {
            return self
                .whisper(press, "This question is no longer open: something was said after it.")
                .await;
        };
        let mut blocks: Vec<Json> = press.blocks.clone();
        blocks.retain(|block| block.get("block_id").and_then(Json::as_str) != Some(ANSWERS));
        blocks.push(show::context(&format!("<@{}> chose: {}", press.by.user, escape(&label))));
        // If this update fails, old buttons stay visible. The check above rejects them.
        let _changed =
            self.api.update(&press.channel, &press.ts, &Post { text: escape(&label), blocks }).await;
        let ts = self.api.post(choice.place.to(), &show::Progress::default().post()).await?;
        let data = self.options.data.clone();
        let chosen = OptionChoice { question: Some(choice.task), option: choice.option };
        let turn = Turn { said, conversation: Some(conversation), caller, data, choice: Some(chosen) };
        self.converse(&turn, &choice.place, &choice.asked, &ts).await
    }

    async fn decided(&self, press: &ButtonPress, decision: &Decision) -> Result<(), Error> {
        let Some(caller) = self.people.caller(&press.by.team, &press.by.user) else {
            return self.whisper(press, &self.stranger()).await;
        };
        let (toolbox, scope) = (self.chat.toolbox(), Scope::User(decision.owner.clone()));
        let approvals = toolbox.approvals();
        let waiting = approvals.list(&scope).await?;
        let shown = waiting.iter().find(|call| call.task == decision.task && call.digest == decision.digest);
        let Some(call) = shown else {
            let text = "This call no longer waits: it was decided already, or its time ran out.";
            return self.replace(press.to(), &press.ts, &show::words(text)).await;
        };
        let tools: Vec<&str> = call.released_tools().collect();
        if !self.people.may_decide(&press.by.team, &press.by.user, &call.approvers, &tools) {
            let text = format!(
                "You may not decide about this. Somebody who may approve has to; {} knows who.",
                self.options.contact
            );
            return self.whisper(press, &text).await;
        }
        let by = Label::new(format!("{} in Slack ({})", caller.user, press.by.user))
            .or_else(|_| Label::new(caller.user.as_str()))?;
        let (who, tool) = (format!("<@{}>", press.by.user), escape(&call.tool));
        let action = if press.action == REJECT { HumanAction::Reject } else { HumanAction::Approve };
        // The buttons go before the call is made, so that it is not pressed twice.
        if action == HumanAction::Approve {
            self.note(press, &format!("✓ `{tool}` was approved by {who}.")).await?;
        }
        let decided = Decided {
            action,
            message: String::new(),
            updates: JsonObject::new(),
            by,
            from: "slack".to_owned(),
            shown: call.shown()?.digest,
        };
        let told = match self.runner.decide_waiting(call.task, &caller.user, decided, None).await {
            Ok(DecisionOutcome::Called(receipt)) => {
                let told = tell(None, receipt.output.structured.as_ref(), &receipt.output.words());
                if told.text.trim().is_empty() { format!("{} was called.", call.tool) } else { told.text }
            }
            Ok(DecisionOutcome::NotCalled(_)) => {
                return self
                    .note(press, &format!("✗ `{tool}` was rejected by {who}. It is not called."))
                    .await;
            }
            Ok(DecisionOutcome::Ran(ran)) => {
                if action == HumanAction::Reject {
                    self.note(press, &format!("✗ `{tool}` was rejected by {who}.")).await?;
                }
                run_result(&ran.standing)
            }
            Err(error) => turn::sorry(&error.into()),
        };
        self.api.post(press.to(), &show::words(&told)).await.map(drop)
    }

    /// Replaces the buttons by the decision. The rest of the message stays.
    async fn note(&self, press: &ButtonPress, text: &str) -> Result<(), Error> {
        let mut blocks: Vec<Json> = press.blocks.clone();
        blocks.retain(|block| block.get("type").and_then(Json::as_str) != Some("actions"));
        blocks.push(show::section(text));
        self.replace(press.to(), &press.ts, &Post { text: text.to_owned(), blocks }).await
    }
}

/// How a run stands after a decision.
fn run_result(standing: &RunStatus) -> String {
    match standing {
        RunStatus::Completed(Json::String(text)) => format!("The run is completed. {text}"),
        RunStatus::Completed(result) => format!("The run is completed. {result}"),
        RunStatus::Failed(why) => format!("The run failed: {why}"),
        RunStatus::Rejected(why) => format!("The run ended with the rejection. {why}"),
        RunStatus::Cancelled(by) => format!("The run was cancelled by {by}."),
        RunStatus::Waiting => "The run continued, and waits again.".to_owned(),
        RunStatus::HandedOver => "The run continues in another process.".to_owned(),
    }
}

impl ButtonPress {
    fn to(&self) -> MessageTarget<'_> {
        MessageTarget { channel: &self.channel, thread: self.thread.as_deref() }
    }
}
