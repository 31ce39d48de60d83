//! Recovery in another process: effects that were not started, or are safe to repeat, are issued
//! again. An effect that must not be repeated and may have happened becomes unknown.

use super::Step;
use crate::state::Pending;
use crate::{Effect, InFlight};
use steward_domain::Idempotency;

impl Step<'_> {
    pub(super) fn recovered(&mut self, in_flight: &[InFlight]) {
        let begun = |id| in_flight.iter().find(|begun| begun.effect == id);
        let mut unknown = Vec::new();
        for (id, pending) in &self.state.pending {
            match pending {
                Pending::Tool { call }
                    if begun(*id).is_some_and(|begun| begun.safety == Idempotency::None) =>
                {
                    unknown.push((*id, *call));
                }
                _ => {
                    let effect = self.effect(*id, pending);
                    self.out.extend(effect);
                }
            }
        }
        for (id, call) in unknown {
            // An earlier unknown call may have failed the node and cancelled this one.
            if self.state.pending.remove(&id).is_some() {
                self.out.push(Effect::Cancel { id });
                self.unknown(call);
            }
        }
    }
}
