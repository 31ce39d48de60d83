//! The state in the shape of the data model: used by checkpoints and exports.

use crate::state::Pending;
use crate::{Program, State, derive};
use steward_domain::{
    AgentName, CallStatus, Checkpoint, CheckpointId, Content, ConversationId, JsonObject, Label, Message,
    NodeName, Role, Sequence, State as Shown, ToolCall, ToolName,
};

impl State {
    /// The state in the shape of the data model: every message of every session in order, and the
    /// replaceable fields.
    #[must_use]
    pub fn shown(&self, program: &Program) -> Option<Shown> {
        let task = self.task?;
        let mut messages = Vec::new();
        for (_, agent, message) in self.messages(program) {
            let number = messages.len() as u64 + 1;
            let mut metadata = JsonObject::new();
            if let Some(answers) = &message.answers {
                metadata.insert("answers".to_owned(), answers.as_str().into());
            }
            let said = if message.text.is_empty() { "(calls tools)" } else { message.text.as_str() };
            let speaks = message.role == Role::Agent;
            messages.push(Message {
                id: derive::message_id(task, number),
                conversation_id: ConversationId(task.0),
                role: message.role,
                content: Content::new(said).or_else(|_| Content::new("(too long)")).ok()?,
                sequence_number: Sequence::new(number).ok()?,
                timestamp: message.at,
                agent_type: if speaks { Label::new(agent).ok() } else { None },
                tool_calls: message.calls.iter().filter_map(|call| asked(task, call, message.at)).collect(),
                metadata,
            });
        }
        let first = program.agents.first().map(|spec| spec.agent.name.as_str());
        let current = self.current_agent.as_deref().or(first).unwrap_or("engine");
        let label = |text: &Option<String>| text.as_deref().and_then(|text| Label::new(text).ok());
        Some(Shown {
            messages,
            next_action: label(&self.next_action),
            current_agent: AgentName::new(current).or_else(|_| AgentName::new("engine")).ok()?,
            routing_key: label(&self.routing_key),
            metadata: self.metadata.clone(),
        })
    }

    /// The state as a checkpoint at the current node.
    #[must_use]
    pub fn checkpoint(&self, program: &Program, id: CheckpointId) -> Option<Checkpoint> {
        let asks = self.pending.values().find(|pending| matches!(pending, Pending::Human { .. }));
        let place = asks.and_then(|pending| self.node_of(pending));
        let place =
            place.or_else(|| self.threads.values().next().map(|thread| thread.at)).unwrap_or_default();
        Some(Checkpoint {
            checkpoint_id: id,
            task_id: self.task?,
            state: self.shown(program)?,
            position: program
                .node(place)
                .map(|node| node.name.clone())
                .or_else(|| NodeName::new("end").ok())?,
            sequence: self.events,
            created_at: self.now,
            awaiting_human: asks.is_some(),
            resumed_at: None,
        })
    }
}

/// A call that a model requested; unknown tool names are left out.
fn asked(
    task: steward_domain::TaskId,
    call: &crate::AskedCall,
    timestamp: steward_domain::Timestamp,
) -> Option<ToolCall> {
    Some(ToolCall {
        call_id: steward_domain::CallId(task.0),
        task_id: None,
        server: None,
        tool_name: ToolName::new(call.tool.as_str()).ok()?,
        domain: None,
        arguments: call.arguments.as_object()?.clone(),
        status: CallStatus::Completed,
        timestamp,
        attempt_number: steward_domain::Attempt::default(),
    })
}
