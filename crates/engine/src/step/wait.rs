//! Nodes that wait for a time or a signal, and nodes that only compute.
//!
//! Invariant: a signal counts once by its key. One that arrives before a node waits for it is kept
//! for that node.

use super::Step;
use crate::expression::as_text;
use crate::program::{Node, NodeWork, ProgramIndex};
use crate::state::{KeptSignal, Pending};
use crate::{Code, Effect, EffectId, Failure, NodeStatus, Program, Rejected, State, duration};
use serde_json::{Value, json};
use steward_domain::{NodeName, Provenance, Timestamp};

/// The maximum number of signals that are kept until a node takes them.
const KEPT: usize = 100;

impl State {
    /// Whether a signal is acceptable.
    pub(super) fn admit_signal(
        &self,
        program: &Program,
        name: &NodeName,
        data: &Value,
        key: &str,
    ) -> Result<(), Rejected> {
        if self.signal_keys.contains(key) {
            return Err(Rejected::SignalTwice { key: key.to_owned() });
        }
        program.check_signal(name.as_str(), data).map_err(|reason| Rejected::Signal { reason })?;
        if self.signals.len() >= KEPT {
            let reason = format!("the run keeps {KEPT} signals that it has not taken yet; send it later");
            return Err(Rejected::Signal { reason });
        }
        Ok(())
    }
}

impl Step<'_> {
    /// Starts the timer of a node.
    pub(super) fn begin_timer(&mut self, place: ProgramIndex, node: &Node) {
        match self.timer_end(node) {
            Ok(at) => {
                self.issue(Pending::Wait { node: place, at });
                self.set_waiting(place);
            }
            Err(why) => self.node_failed(place, Failure::new(Code::Expression, why)),
        }
    }

    fn timer_end(&self, node: &Node) -> Result<Timestamp, String> {
        let value = node.value.as_ref().map(|value| value.render(&|name| self.value_of(name)));
        let text = as_text(&value.transpose()?.unwrap_or_default());
        let now = self.state.now;
        if node.work == NodeWork::Until {
            return duration::moment_after(&text, &node.zone, now);
        }
        let micros = duration::parse_duration(&text)?;
        Ok(Timestamp::from_micros(now.micros().saturating_add(micros)))
    }

    pub(super) fn timer_done(&mut self, place: ProgramIndex, at: Timestamp) {
        self.node_done(place, Some(json!({ "until": at })), false);
    }

    /// Evaluates a transform; its node ends at once.
    pub(super) fn begin_transform(&mut self, place: ProgramIndex, node: &Node) {
        let Some(template) = &node.value else { return self.node_done(place, Some(Value::Null), false) };
        match template.render(&|name| self.value_of(name)) {
            Ok(value) => {
                let origin = template.provenance(|expression| self.trust(expression));
                self.node_done(place, Some(value), origin == Provenance::Untrusted);
            }
            Err(why) => self.node_failed(place, Failure::new(Code::Expression, why)),
        }
    }

    /// A signal node takes a kept signal, or waits.
    pub(super) fn begin_signal(&mut self, place: ProgramIndex, node: &Node) {
        let kept = self.state.signals.iter().position(|kept| Some(&kept.name) == node.signal.as_ref());
        if let Some(number) = kept {
            let KeptSignal { data, .. } = self.state.signals.remove(number);
            return self.node_done(place, Some(data), true);
        }
        let request = self.issue(Pending::Signal { node: place });
        if let Some(seconds) = node.expires_seconds {
            let at = self.after(u64::from(seconds));
            self.issue(Pending::Expiry { request, at });
        }
        self.set_waiting(place);
    }

    /// Delivers a signal to the node that has waited longest for its name, or keeps it.
    pub(super) fn signalled(&mut self, name: &NodeName, data: &Value, key: &str) {
        self.state.signal_keys.insert(key.to_owned());
        let program = self.program;
        let fits = |pending: &Pending| match pending {
            Pending::Signal { node } => {
                program.node(*node).is_some_and(|node| node.signal.as_ref() == Some(name))
            }
            _ => false,
        };
        let waiting = self.state.pending.iter().find(|(_, pending)| fits(pending)).map(|(id, _)| *id);
        let Some(id) = waiting else {
            let kept = KeptSignal { name: name.clone(), data: data.clone() };
            return self.state.signals.push(kept);
        };
        let Some(Pending::Signal { node }) = self.state.pending.remove(&id) else { return };
        self.out.push(Effect::Cancel { id });
        self.drop_expiry_of(id);
        self.node_done(node, Some(data.clone()), true);
    }

    /// The signal timed out.
    pub(super) fn signal_expired(&mut self, place: ProgramIndex) {
        let program = self.program;
        let Some(node) = program.node(place) else { return };
        let name = node.signal.as_ref().map_or("?", |name| name.as_str());
        let seconds = node.expires_seconds.unwrap_or_default();
        let message = format!("the signal {name} did not arrive within {seconds} s");
        self.node_failed(place, Failure::new(Code::SignalExpired, message));
    }

    fn drop_expiry_of(&mut self, waited: EffectId) {
        let theirs =
            |pending: &Pending| matches!(pending, Pending::Expiry { request, .. } if *request == waited);
        let timer = self.state.pending.iter().find(|(_, pending)| theirs(pending)).map(|(id, _)| *id);
        if let Some(id) = timer {
            self.state.pending.remove(&id);
            self.out.push(Effect::Cancel { id });
        }
    }

    fn set_waiting(&mut self, place: ProgramIndex) {
        if let Some(run) = self.state.nodes.get_mut(place as usize)
            && run.status == NodeStatus::Running
        {
            run.status = NodeStatus::Waiting;
        }
    }
}
